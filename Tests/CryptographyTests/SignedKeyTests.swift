import Base
import Testing

@testable import Cryptography

@Suite("Signed keys and certificates in DER")
struct SignedKeyTests {
    private let leaf: SigningKey
    private let shown: [UInt8]
    /// AlgorithmIdentifier of Ed25519 (RFC 8410).
    private static let algorithm: [UInt8] = [0x30, 5, 6, 3, 0x2b, 0x65, 0x70]

    init() throws {
        leaf = try SigningKey(seed: Vectors.bytes(32))
        shown = try AgreementKey(rawValue: Vectors.bytes(32, seed: 2)).publicKey
    }

    private var whole: [UInt8] {
        SignedKey.encode(
            key: shown, algorithmIdentifier: Self.algorithm,
            signature: leaf.sign(SignedKey.bytesToSign(for: shown)))
    }

    @Test("a signed key verifies only with its signer")
    func signed() throws {
        let key = try #require(SignedKey(whole))
        #expect(key.key == shown && key.isSigned(by: leaf.verifyingKey))
        #expect(!key.isSigned(by: try SigningKey(seed: Vectors.bytes(32, seed: 3)).verifyingKey))
        // Without the sequence around the key it decodes alike; the signature covers the present bytes.
        let bare = DERReader.encode(
            DERReader.sequence,
            shown + Self.algorithm + DERReader.encode(DERReader.bitString, [0] + leaf.sign(shown)))
        #expect(SignedKey(bare)?.key == shown && SignedKey(bare)?.isSigned(by: leaf.verifyingKey) == true)
    }

    @Test("damaged signed keys are rejected")
    func damaged() {
        let whole = whole
        for length in 0..<whole.count { #expect(SignedKey(Array(whole.prefix(length))) == nil) }
        #expect(SignedKey(whole + [0]) == nil)
        var accepted = 0
        for place in whole.indices {
            for bit in UInt8(0)..<8 {
                var bytes = whole
                bytes[place] ^= 1 << bit
                guard let key = SignedKey(bytes), key.isSigned(by: leaf.verifyingKey) else { continue }
                // No signature covers the algorithm's name.
                #expect(key.key == shown)
                accepted += 1
            }
        }
        #expect(accepted <= Self.algorithm.count * 8)
    }

    @Test("malformed signed keys do not decode")
    func forms() {
        let signature = leaf.sign(SignedKey.bytesToSign(for: shown))
        func made(_ parts: [[UInt8]]) -> [UInt8] {
            DERReader.encode(DERReader.sequence, parts.flatMap { $0 })
        }
        let key = SignedKey.bytesToSign(for: shown)
        let bits = DERReader.encode(DERReader.bitString, [0] + signature)
        #expect(SignedKey(made([key, Self.algorithm, bits])) != nil)
        #expect(
            SignedKey(made([key, Self.algorithm, DERReader.encode(DERReader.bitString, [1] + signature)]))
                == nil)
        #expect(SignedKey(made([key, Self.algorithm, DERReader.encode(DERReader.bitString, [])])) == nil)
        #expect(SignedKey(made([key, Self.algorithm, DERReader.encode(4, [0] + signature)])) == nil)
        #expect(SignedKey(made([key, Self.algorithm, bits, [5, 0]])) == nil)
        #expect(SignedKey(made([key, bits])) == nil && SignedKey(made([Self.algorithm, bits])) == nil)
        #expect(SignedKey(DERReader.encode(0x31, key + Self.algorithm + bits)) == nil)
    }

    @Test("DER lengths are minimal and round-trip")
    func lengths() {
        for (count, header) in [(0, 2), (1, 2), (127, 2), (128, 3), (255, 3), (256, 4), (65_535, 4)] {
            let content = [UInt8](repeating: 7, count: count)
            let bytes = DERReader.encode(4, content)
            #expect(bytes.count == header + count)
            var reader = DERReader(bytes)
            let element = reader.next()
            #expect(element?.tag == 4 && element?.content == content && element?.whole == bytes)
            #expect(reader.isAtEnd && reader.next() == nil)
            for length in [1, header - 1, bytes.count - 1] where length < bytes.count {
                var cut = DERReader(Array(bytes.prefix(length)))
                #expect(cut.next() == nil && !cut.isAtEnd)
            }
        }
    }

    @Test("indefinite and absurd lengths are rejected")
    func absurd() {
        for bytes in [
            [4, 0x80, 0, 0], [4, 0x84, 0, 0, 0, 1, 7], [4, 0x83, 0xFF, 0xFF, 0xFF, 1], [4, 0xFF],
        ] as [[UInt8]] {
            var reader = DERReader(bytes)
            #expect(reader.next() == nil)
        }
        var other = DERReader([4, 1, 9, 5, 0])
        #expect(other.next(5) == nil && other.next(4)?.content == [9] && other.next(5)?.content == [])
    }

    @Test("certificate keys are found with and without a version")
    func certificates() {
        let (number, field): ([UInt8], [UInt8]) = ([2, 1, 9], [0x30, 0])
        func certificate(_ parts: [[UInt8]]) -> [UInt8] {
            DERReader.encode(
                DERReader.sequence, DERReader.encode(DERReader.sequence, parts.flatMap { $0 }) + field)
        }
        let version: [UInt8] = [0xA0, 3, 2, 1, 2]
        let fields = [number, field, field, field, field]
        #expect(SignedKey.publicKey(ofCertificate: certificate([version] + fields + [shown])) == shown)
        #expect(SignedKey.publicKey(ofCertificate: certificate(fields + [shown, [0xA3, 0]])) == shown)
        #expect(SignedKey.publicKey(ofCertificate: certificate(fields)) == nil)
        #expect(SignedKey.publicKey(ofCertificate: certificate(fields.dropLast() + [shown])) == nil)
        #expect(SignedKey.publicKey(ofCertificate: certificate(fields + [[5, 0]])) == nil)
        let whole = certificate([version] + fields + [shown])
        for length in 0..<whole.count {
            #expect(SignedKey.publicKey(ofCertificate: Array(whole.prefix(length))) == nil)
        }
    }

    @Test("key forms have distinct prefixes and lengths")
    func keyForms() {
        let forms: [(KeyForm, Int)] = [
            (.ed25519Public, 32), (.ed448Public, 57), (.x25519Public, 32), (.x448Public, 56),
            (.ed25519Private, 32), (.x25519Private, 32),
        ]
        for (index, (form, count)) in forms.enumerated() {
            let raw = Vectors.bytes(count)
            let encoded = form.encode(raw)
            #expect(form.decode(encoded) == raw)
            // The outer length covers the whole key.
            #expect(Int(encoded[1]) == encoded.count - 2)
            #expect(form.decode(encoded + [0]) == nil && form.decode(Array(encoded.dropLast())) == nil)
            for (other, (wrong, _)) in forms.enumerated() where other != index {
                #expect(wrong.decode(encoded) == nil)
            }
        }
        #expect(AgreementKey.isPublicKey(shown) && !AgreementKey.isPublicKey(leaf.publicKey))
    }

    @Test("agreements give one secret and reject small order")
    func agreements() throws {
        let (left, right) = (X448Key.generate(), X448Key.generate())
        let secret = try left.sharedSecret(with: right.publicKey)
        #expect(try secret == right.sharedSecret(with: left.publicKey) && secret.count == 56)
        let third = X448Key.generate()
        #expect(try secret != left.sharedSecret(with: third.publicKey))
        #expect(X448PublicKey(spki: right.publicKey.spki) == right.publicKey)
        for raw in [[UInt8](repeating: 0, count: 56), [1] + [UInt8](repeating: 0, count: 55)] {
            let small = try #require(X448PublicKey(rawValue: raw))
            let error = #expect(throws: CryptographyError.self) { try left.sharedSecret(with: small) }
            #expect(error?.code == .invalidKey)
        }
        #expect(X448PublicKey(rawValue: [UInt8](repeating: 1, count: 55)) == nil)
        #expect(throws: CryptographyError.self) { try X448Key(rawValue: WipedBytes([1, 2])) }
        let (one, two) = (AgreementKey.generate(), AgreementKey.generate())
        #expect(try one.sharedSecret(with: two.publicKey) == two.sharedSecret(with: one.publicKey))
        #expect(throws: CryptographyError.self) { try AgreementKey(rawValue: [1]) }
        #expect(throws: CryptographyError.self) { try SigningKey(seed: Vectors.bytes(31)) }
    }
}
