import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Cryptography

/// Bytes from relays, other people and damaged disks never trap.
@Suite("Hostile bytes")
struct HostileBytesTests {
    /// A minimal DER reader. Returns the length of the first element with its header, or nil.
    private static func elementLength(_ bytes: ArraySlice<UInt8>) -> Int? {
        let bytes = Array(bytes)
        guard bytes.count >= 2 else { return nil }
        if bytes[1] < 0x80 { return 2 + Int(bytes[1]) <= bytes.count ? 2 + Int(bytes[1]) : nil }
        let count = Int(bytes[1]) - 0x80
        guard count >= 1, count <= 3, bytes.count >= 2 + count else { return nil }
        var length = 0
        for byte in bytes[2..<2 + count] { length = length * 256 + Int(byte) }
        return 2 + count + length <= bytes.count ? 2 + count + length : nil
    }

    @Test("DER elements match a minimal reader")
    func der() {
        var dice = Dice(seed: 11)
        for _ in 0..<20_000 {
            var bytes = Vectors.bytes(Int.random(in: 0...40, using: &dice), seed: dice.next())
            // Random bytes rarely contain short lengths.
            for place in stride(from: 1, to: bytes.count, by: 3) where Bool.random(using: &dice) {
                bytes[place] = [0, 1, 3, 0x80, 0x81, 0x82, 0x83, 0x84, 0xFF].randomElement(using: &dice) ?? 0
            }
            var reader = DERReader(bytes)
            var rest = bytes[...]
            while let expected = Self.elementLength(rest) {
                guard let element = reader.next() else {
                    Issue.record("an element of \(expected) bytes is not found in \(bytes)")
                    return
                }
                #expect(element.tag == rest.first && element.whole == Array(rest.prefix(expected)))
                #expect(element.whole.suffix(element.content.count).elementsEqual(element.content))
                rest = rest.dropFirst(expected)
            }
            #expect(reader.next() == nil)
            #expect(reader.isAtEnd == rest.isEmpty)
        }
    }

    @Test("an unexpected tag does not advance the reader")
    func wantedTags() {
        let bytes: [UInt8] = [0x02, 1, 5, 0x03, 2, 0, 9]
        var reader = DERReader(bytes)
        #expect(reader.next(DERReader.sequence) == nil)
        #expect(reader.next(0x02)?.content == [5])
        #expect(reader.next(0x02) == nil)
        #expect(reader.next(DERReader.bitString)?.content == [0, 9])
        #expect(reader.isAtEnd && reader.next() == nil && reader.next(0x02) == nil)
        #expect(DERReader.sequence(bytes) == nil && DERReader.sequence([]) == nil)
        #expect(DERReader.sequence([0x30, 0])?.isAtEnd == true)
        #expect(DERReader.sequence([0x30, 0, 0]) == nil)
    }

    @Test("keys and certificates decode completely or not at all")
    func keys() {
        var dice = Dice(seed: 12)
        let key = SigningKey.generate()
        let agreement = AgreementKey.generate()
        let seeds = [
            key.publicKey, key.pkcs8, agreement.publicKey, agreement.pkcs8, X448Key.generate().publicKey.spki,
            SignedKey.encode(
                key: agreement.publicKey, algorithmIdentifier: [0x30, 5, 6, 3, 0x2B, 0x65, 0x70],
                signature: key.sign(SignedKey.bytesToSign(for: agreement.publicKey))),
        ]
        for _ in 0..<6000 {
            var bytes = seeds.randomElement(using: &dice) ?? []
            for _ in 0..<Int.random(in: 1...3, using: &dice) where !bytes.isEmpty {
                switch Int.random(in: 0..<3, using: &dice) {
                case 0:
                    bytes[Int.random(in: 0..<bytes.count, using: &dice)] = .random(in: 0...255, using: &dice)
                case 1: bytes.remove(at: Int.random(in: 0..<bytes.count, using: &dice))
                default:
                    bytes.insert(
                        .random(in: 0...255, using: &dice), at: Int.random(in: 0...bytes.count, using: &dice))
                }
            }
            if let found = VerifyingKey(spki: bytes) { #expect(found.spki == bytes) }
            if let found = SigningKey(pkcs8: bytes) { #expect(found.pkcs8 == bytes) }
            if let found = X448PublicKey(spki: bytes) { #expect(found.spki == bytes) }
            #expect(
                AgreementKey.isPublicKey(bytes)
                    == (bytes.count == 44 && bytes.starts(with: agreement.publicKey[..<12])))
            _ = SignedKey(bytes)?.isSigned(by: key.verifyingKey)
            _ = SignedKey.publicKey(ofCertificate: bytes)
        }
    }

    @Test(
        "malformed file arguments give an error",
        arguments: [
            "", "{}", "[]", "null", "1", "\"text\"", "{\"fileKey\":1,\"fileNonce\":2}", "{\"fileKey\":\"\"}",
            "{\"fileKey\":\"\",\"fileNonce\":\"\"}", "{\"cryptoArgs\":{}}", "{\"cryptoArgs\":null}",
            "{\"cryptoArgs\":{\"fileKey\":\"AA\",\"fileNonce\":\"AA\"}}",
            "{\"fileKey\":null,\"fileNonce\":null}",
            String(repeating: "[", count: 5000), String(repeating: "{\"a\":", count: 3000),
        ])
    func arguments(text: String) {
        let error = #expect(throws: CryptographyError.self) { try FileArguments(parsing: text) }
        #expect(error.map { [.invalidArguments, .invalidKey].contains($0.code) } == true)
        #expect(error?.sentence.isEmpty == false)
    }

    @Test("arguments beyond 64 KiB are ignored")
    func longArguments() throws {
        let text = Vectors.arguments.text
        #expect(try FileArguments(parsing: text) == Vectors.arguments)
        let padded = String(repeating: " ", count: 60_000) + text
        #expect(try FileArguments(parsing: padded) == Vectors.arguments)
        let tooLong = String(repeating: " ", count: 70_000) + text
        #expect(throws: CryptographyError.self) { try FileArguments(parsing: tooLong) }
    }

    @Test("an invalid CryptoFile returns no plaintext")
    func cryptoFiles() throws {
        let folder = try TemporaryFolder()
        var dice = Dice(seed: 13)
        for count in [0, 1, 15, 16, 17, 100, 65_552, 131_100] {
            let path = try folder.write(Vectors.bytes(count, seed: dice.next()), to: "file")
            let file = try OpenFile(path, flags: O_RDONLY)
            guard count >= 16 else {
                let error = #expect(throws: CryptographyError.self) {
                    try CryptoFileReader(file: file, arguments: Vectors.arguments)
                }
                #expect(error?.code == .tooShort)
                continue
            }
            let reader = try CryptoFileReader(file: file, arguments: Vectors.arguments)
            #expect(reader.size == UInt64(count - 16) && !reader.isVerified && reader.tags == nil)
            let error = #expect(throws: CryptographyError.self) { try reader.verify() }
            #expect(error?.code == .notAuthentic)
            var buffer = [UInt8](repeating: 0, count: 10)
            let refusal = #expect(throws: CryptographyError.self) {
                try buffer.withUnsafeMutableBytes { try reader.read(into: $0, at: 0) }
            }
            #expect(refusal?.code == .notVerified && buffer.allSatisfy { $0 == 0 })
        }
    }

    @Test("shrinking files fail with tooShort")
    func shrinking() throws {
        let folder = try TemporaryFolder()
        let plain = try folder.write(Vectors.bytes(3_000_000), to: "plain")
        let arguments = try CryptoFile.encrypt(from: plain, to: folder.path("file"))
        let file = try OpenFile(folder.path("file"), flags: O_RDWR)
        let reader = try CryptoFileReader(file: file, arguments: arguments)
        var verification = reader.beginVerification()
        #expect(try !reader.step(&verification))
        #expect(verification.position == 1 << 20)
        try file.truncate(to: 2_000_000)
        let error = #expect(throws: CryptographyError.self) {
            while try !reader.step(&verification) {}
        }
        #expect(error?.code == .tooShort)
        #expect(!reader.isVerified)
        var check = reader.beginCheck()
        var buffer = [UInt8](repeating: 0, count: 4096)
        let late = #expect(throws: CryptographyError.self) {
            try buffer.withUnsafeMutableBytes { try reader.read(into: $0, at: 1_999_000, checking: &check) }
        }
        #expect(late?.code == .tooShort)
        #expect(throws: CryptographyError.self) { try reader.finish(check) }
    }
}
