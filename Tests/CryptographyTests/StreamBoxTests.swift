import Base
import CSodium
import Testing

@testable import Cryptography

@Suite struct StreamBoxTests {
    private func sealed(_ plaintext: [UInt8], pieces: [Int] = []) throws -> (
        ciphertext: [UInt8], tag: [UInt8]
    ) {
        var box = try StreamBox(key: Vectors.key, nonce: Vectors.nonce)
        var bytes = plaintext
        bytes.withUnsafeMutableBytes { buffer in
            var start = 0
            for piece in pieces {
                box.seal(UnsafeMutableRawBufferPointer(rebasing: buffer[start..<start + piece]))
                start += piece
            }
            box.seal(UnsafeMutableRawBufferPointer(rebasing: buffer[start...]))
        }
        return (bytes, box.tag())
    }

    @Test func shortTextMatchesVector() throws {
        let (ciphertext, tag) = try sealed(Array("hello simplex".utf8))
        #expect(
            Hexadecimal.encode(ciphertext + tag)
                == "73f2ee5f3ce1212140781a56690f5061c09c507923b56fea9fa486fb38")
    }

    @Test func twoHundredZerosMatchVector() throws {
        let (ciphertext, tag) = try sealed([UInt8](repeating: 0, count: 200))
        #expect(
            Hexadecimal.encode(ciphertext[0..<32])
                == "1b97823353c152482d08763311723513740e3f328cec8861325b9f0450023e45")
        #expect(
            Hexadecimal.encode(ciphertext[96..<128])
                == "0c96ed644d5689fc9b46e7b6755e1b608aa1d047c50407f95870bcde7d66dc18")
        #expect(Hexadecimal.encode(tag) == "502143116f8f82b50fc3e78172e025e9")
        #expect(
            Hexadecimal.encode(SHA256.hash(ciphertext + tag))
                == "94159de5795b5c05f27ef50a49d083c9962db167cea05f6291f7d69db0f32278")
    }

    @Test func emptyTextMatchesVector() throws {
        let box = try StreamBox(
            key: [UInt8](repeating: 0, count: 32), nonce: [UInt8](repeating: 0, count: 24))
        #expect(Hexadecimal.encode(box.tag()) == "0d49574353f7b5864dac1e5f8cf56427")
    }

    @Test func streamEqualsSecretboxOfTheDerivedKey() throws {
        let plaintext = Vectors.bytes(100_003)
        var step = [UInt8](repeating: 0, count: 32)
        crypto_core_hsalsa20(&step, [UInt8](repeating: 0, count: 16), Vectors.key, nil)
        #expect(
            Hexadecimal.encode(step) == "50088706d3e1cee8a5c0f12504d968443211cf12af4a4b49e5c874b3ef4f85e7")
        var expected = [UInt8](repeating: 0, count: plaintext.count)
        var expectedTag = [UInt8](repeating: 0, count: 16)
        crypto_secretbox_detached(
            &expected, &expectedTag, plaintext, UInt64(plaintext.count), Vectors.nonce, step)
        let (ciphertext, tag) = try sealed(plaintext)
        #expect(ciphertext == expected)
        #expect(tag == expectedTag)
    }

    @Test func pieceLengthsDoNotMatter() throws {
        let plaintext = Vectors.bytes(300_000)
        let whole = try sealed(plaintext)
        var dice = Dice(seed: 7)
        for _ in 0..<20 {
            var pieces: [Int] = []
            while pieces.reduce(0, +) < 200_000 { pieces.append(Int.random(in: 0...70_000, using: &dice)) }
            while pieces.reduce(0, +) > plaintext.count { pieces.removeLast() }
            let cut = try sealed(plaintext, pieces: pieces)
            #expect(cut.ciphertext == whole.ciphertext)
            #expect(cut.tag == whole.tag)
        }
    }

    @Test func openInvertsSealWithSameTag() throws {
        let plaintext = Vectors.bytes(150_001)
        let (ciphertext, tag) = try sealed(plaintext)
        var box = try StreamBox(key: Vectors.key, nonce: Vectors.nonce)
        var bytes = ciphertext
        box.open(&bytes)
        #expect(bytes == plaintext)
        #expect(box.isAuthentic(tag))
        var verification = try StreamBox(key: Vectors.key, nonce: Vectors.nonce)
        ciphertext.withUnsafeBytes { verification.authenticate($0) }
        #expect(verification.isAuthentic(tag))
    }

    @Test func flippedBitsChangeTheTag() throws {
        let (ciphertext, tag) = try sealed(Vectors.bytes(500))
        for index in 0..<500 {
            var damaged = ciphertext
            damaged[index] ^= 1 << UInt8(index % 8)
            var box = try StreamBox(key: Vectors.key, nonce: Vectors.nonce)
            damaged.withUnsafeBytes { box.authenticate($0) }
            #expect(!box.isAuthentic(tag))
        }
    }

    @Test(arguments: [0, 1, 31, 32, 33, 63, 64, 95, 96, 97, 100, 500, 4096, 65_535, 65_536, 131_039])
    func transformWorksAtAnyOffset(offset: Int) throws {
        let plaintext = Vectors.bytes(140_000)
        let (ciphertext, _) = try sealed(plaintext)
        let box = try StreamBox(key: Vectors.key, nonce: Vectors.nonce)
        for length in [0, 1, 2, 31, 32, 33, 63, 64, 65, 127, 1000, 8961] {
            var part = Array(ciphertext[offset..<min(offset + length, ciphertext.count)])
            part.withUnsafeMutableBytes { box.transform($0, at: UInt64(offset)) }
            #expect(part == Array(plaintext[offset..<min(offset + length, plaintext.count)]))
        }
    }

    /// The counters of sixteen blocks are computed at once, with a carry into the high word.
    @Test(arguments: [0, 1, 15, 0xffff_fff5, 0xffff_ffff, 0x1_ffff_fff0, (1 << 58) - 40])
    func transformEqualsSalsa20OfLibsodium(block: UInt64) throws {
        var dice = Dice(seed: block)
        for length in [0, 63, 64, 1023, 1024, 1025, 2048, 5000, 70_001] {
            let key = (0..<32).map { _ in UInt8.random(in: 0...255, using: &dice) }
            let nonce = (0..<24).map { _ in UInt8.random(in: 0...255, using: &dice) }
            let plaintext = Vectors.bytes(length, seed: UInt64(length))
            var step = [UInt8](repeating: 0, count: 32)
            var subkey = step
            crypto_core_hsalsa20(&step, [UInt8](repeating: 0, count: 16), key, nil)
            crypto_core_hsalsa20(&subkey, nonce, step, nil)
            var expected = plaintext
            crypto_stream_salsa20_xor_ic(
                &expected, plaintext, UInt64(length), Array(nonce[16...]), block, subkey)
            let box = try StreamBox(key: key, nonce: nonce)
            // The stream begins in the middle of block 0.
            let offset = block &* 64 &- 32
            var found = [UInt8](repeating: 0, count: length)
            found.withUnsafeMutableBytes { target in
                plaintext.withUnsafeBytes { box.transform($0, into: target, at: offset) }
            }
            #expect(found == expected)
            var inPlace = plaintext
            inPlace.withUnsafeMutableBytes { box.transform($0, at: offset) }
            #expect(inPlace == expected)
        }
    }

    @Test func copiesAreIndependent() throws {
        var box = try StreamBox(key: Vectors.key, nonce: Vectors.nonce)
        var first = Vectors.bytes(100)
        box.seal(&first)
        let tag = box.tag()
        var other = box
        var second = Vectors.bytes(10)
        other.seal(&second)
        #expect(box.tag() == tag)
        #expect(box.position == 100)
        #expect(other.position == 110)
    }

    @Test(arguments: [(31, 24), (33, 24), (32, 23), (32, 25), (0, 0)])
    func wrongKeyLengthsAreRejected(key: Int, nonce: Int) {
        #expect(throws: CryptographyError.self) {
            try StreamBox(
                key: [UInt8](repeating: 1, count: key), nonce: [UInt8](repeating: 1, count: nonce))
        }
    }

    /// simplexmq `XFTP/Crypto`: a file "a.txt" with "hello", padded to one chunk of 64 KiB.
    @Test func encryptedChunkMatchesVectors() throws {
        var (chunk, tag) = try sealed(Self.paddedFile)
        chunk += tag
        #expect(chunk.count == 65_536)
        #expect(
            Hexadecimal.encode(chunk[0..<48])
                == "1b97823353c15244286958476906057b1162535dafcfab421178bc2773211d66"
                + "5a7c1977ee3f3c6739203e83978810ad")
        #expect(Hexadecimal.encode(tag) == "e5333c8cf8b8b4f3ba50b86a0336d84c")
        #expect(
            Hexadecimal.encode(SHA256.hash(chunk))
                == "ca08c8b22b8a119088b3b744b4b9e1e903d74e94487f4dafa6a4b8dd5562132b")
        #expect(
            Hexadecimal.encode(SHA512.hash(chunk))
                == "4ac8459ea92bda64f03a085a3855af2ef9b58482b5a23bfc4a36cd4d4b09fd42"
                + "05ab578b21dd6a0f264fd6f4d3f8a2fc65fa22fe688a9173aa03c2318e621ca4")
    }

    /// The same chunk in transit from a relay: a box under an X25519 agreement.
    @Test func transportedChunkMatchesVectors() throws {
        var (chunk, chunkTag) = try sealed(Self.paddedFile)
        chunk += chunkTag
        let client = try AgreementKey(rawValue: [UInt8](repeating: 3, count: 32))
        let relay = try AgreementKey(rawValue: [UInt8](repeating: 4, count: 32))
        let shared = try client.sharedSecret(with: relay.publicKey)
        #expect(
            Hexadecimal.encode(shared) == "40e47a3f525bdcac491d418978d7db5af623ac7afe7623c6d78a5d4fce9d0f63")
        #expect(try relay.sharedSecret(with: client.publicKey) == shared)
        var box = try StreamBox(key: shared, nonce: Vectors.nonce)
        box.seal(&chunk)
        #expect(Hexadecimal.encode(chunk[0..<16]) == "f9adb77ef424a485f1ca2964096643e4")
        #expect(Hexadecimal.encode(box.tag()) == "b237bb4d1943d47e8b2b635a6ea53c82")
        #expect(
            Hexadecimal.encode(client.publicKey)
                == "302a300506032b656e0321005dfedd3b6bd47f6fa28ee15d969d5bb0ea53774d488bdaf9df1c6e0124b3ef22")
    }

    private static let paddedFile: [UInt8] = {
        var plaintext: [UInt8] = []
        plaintext.append(bigEndian: Int64(12))
        plaintext += [5] + Array("a.txt0hello".utf8)
        return plaintext + [UInt8](repeating: UInt8(ascii: "#"), count: 65_536 - 16 - plaintext.count)
    }()
}
