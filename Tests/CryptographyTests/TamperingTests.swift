import Base
import Testing

@testable import Cryptography

@Suite("Tampering")
struct TamperingTests {
    private static let key = WipedBytes(Vectors.bytes(32))

    @Test("changed messages, keys and nonces are rejected")
    func longNonce() {
        let (nonce, covered) = (Vectors.bytes(16, seed: 2), Vectors.bytes(20, seed: 3))
        for length in [0, 1, 16, 33] {
            let plaintext = Vectors.bytes(length, seed: 4)
            let (sealed, tag) = LongNonceCipher.seal(
                plaintext, key: Self.key, nonce: nonce, authenticated: covered)
            func open(
                _ sealed: [UInt8], _ tag: [UInt8], _ nonce: [UInt8], _ covered: [UInt8],
                key: WipedBytes = TamperingTests.key
            ) -> [UInt8]? {
                LongNonceCipher.open(sealed, tag: tag, key: key, nonce: nonce, authenticated: covered)
            }
            #expect(sealed.count == length && tag.count == 16)
            #expect(open(sealed, tag, nonce, covered) == plaintext)
            for place in sealed.indices {
                #expect(open(Self.flipped(sealed, place), tag, nonce, covered) == nil)
            }
            for place in tag.indices {
                #expect(open(sealed, Self.flipped(tag, place), nonce, covered) == nil)
            }
            for place in nonce.indices {
                #expect(open(sealed, tag, Self.flipped(nonce, place), covered) == nil)
            }
            for place in covered.indices {
                #expect(open(sealed, tag, nonce, Self.flipped(covered, place)) == nil)
            }
            #expect(open(sealed, tag, nonce, covered, key: WipedBytes(Vectors.bytes(32, seed: 9))) == nil)
            #expect(
                open(sealed, tag, nonce, []) == nil
                    && open(sealed, Array(tag.dropLast()), nonce, covered) == nil)
            #expect(open(sealed + [0], tag, nonce, covered) == nil && open(sealed, [], nonce, covered) == nil)
        }
        let (bare, tag) = LongNonceCipher.seal([1], key: Self.key, nonce: nonce, authenticated: [])
        #expect(LongNonceCipher.open(bare, tag: tag, key: Self.key, nonce: nonce, authenticated: []) == [1])
    }

    @Test("changed and short boxes are rejected")
    func messageBox() {
        let nonce = Vectors.bytes(24, seed: 2)
        let box = MessageBox.seal([1, 2, 3], key: Self.key, nonce: nonce)
        #expect(box.count == 19 && MessageBox.open(box, key: Self.key, nonce: nonce) == [1, 2, 3])
        for place in box.indices {
            #expect(MessageBox.open(Self.flipped(box, place), key: Self.key, nonce: nonce) == nil)
        }
        for place in nonce.indices {
            #expect(MessageBox.open(box, key: Self.key, nonce: Self.flipped(nonce, place)) == nil)
        }
        for length in 0..<box.count {
            #expect(MessageBox.open(Array(box.prefix(length)), key: Self.key, nonce: nonce) == nil)
        }
        #expect(MessageBox.open(box, key: Self.key, nonce: Array(nonce.dropLast())) == nil)
        #expect(
            MessageBox.open(MessageBox.seal([], key: Self.key, nonce: nonce), key: Self.key, nonce: nonce)
                == [])
    }

    @Test("padded boxes have one size and check their length")
    func padded() throws {
        let nonce = Vectors.bytes(24, seed: 2)
        for length in [0, 1, 97, 98] {
            let message = Vectors.bytes(length, seed: 5)
            let box = try #require(MessageBox.seal(message, paddedTo: 100, key: Self.key, nonce: nonce))
            #expect(box.count == 116)
            #expect(MessageBox.openPadded(box, key: Self.key, nonce: nonce) == message)
        }
        #expect(MessageBox.seal(Vectors.bytes(99), paddedTo: 100, key: Self.key, nonce: nonce) == nil)
        let wrong = MessageBox.seal([0, 3, 1, 2], key: Self.key, nonce: nonce)
        #expect(MessageBox.openPadded(wrong, key: Self.key, nonce: nonce) == nil)
    }

    @Test(
        "rejected records leave only zeros"
    )
    func records() {
        let cipher = RecordCipher(key: SecretBytes(Vectors.bytes(32)))
        let other = RecordCipher(key: SecretBytes(Vectors.bytes(32, seed: 2)))
        let plaintext = [UInt8](repeating: 5, count: 40)
        var sealed = [UInt8](repeating: 0, count: 40 + RecordCipher.overhead)
        let place: [UInt8] = [1, 2]
        let isSealed = plaintext.withUnsafeBytes { plaintext in
            place.withUnsafeBytes { cipher.seal(plaintext, authenticating: $0, into: &sealed) }
        }
        #expect(isSealed)
        func open(_ bytes: [UInt8], _ place: [UInt8], _ cipher: RecordCipher) -> [UInt8]? {
            var opened = [UInt8](repeating: 7, count: max(0, bytes.count - RecordCipher.overhead))
            let isOpened = bytes.withUnsafeBytes { bytes in
                place.withUnsafeBytes { cipher.open(bytes, authenticating: $0, into: &opened) }
            }
            if !isOpened, bytes.count >= RecordCipher.overhead {
                #expect(opened.allSatisfy { $0 == 0 }, "plaintext remains")
            }
            return isOpened ? opened : nil
        }
        #expect(open(sealed, place, cipher) == plaintext)
        for index in sealed.indices { #expect(open(Self.flipped(sealed, index), place, cipher) == nil) }
        #expect(open(sealed, [1, 3], cipher) == nil && open(sealed, [1], cipher) == nil)
        #expect(open(sealed, place, other) == nil && open(Array(sealed.dropLast()), place, cipher) == nil)
        for length in 0..<RecordCipher.overhead {
            #expect(open(Array(sealed.prefix(length)), place, cipher) == nil)
        }
        // Sealing again gives other bytes, because nonces are random.
        var again = sealed
        _ = plaintext.withUnsafeBytes { plaintext in
            place.withUnsafeBytes { cipher.seal(plaintext, authenticating: $0, into: &again) }
        }
        #expect(again != sealed && open(again, place, cipher) == plaintext)
    }

    private static func flipped(_ bytes: [UInt8], _ place: Int) -> [UInt8] {
        var bytes = bytes
        bytes[place] ^= 1 << UInt8(place % 8)
        return bytes
    }
}
