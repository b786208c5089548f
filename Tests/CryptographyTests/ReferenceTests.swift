import Base
import Testing

@testable import Cryptography

/// Values from Python's hashlib (BLAKE2b) and cryptography package (Argon2id, AES-256-GCM), and from RFCs 7748, 8032,
/// 8439 and NaCl.
@Suite("Values of other implementations")
struct ReferenceTests {
    private static func bytes(_ text: String) throws -> [UInt8] { try #require(Hexadecimal.decode(text)) }
    private static func text(_ key: SecretBytes) -> String { key.withUnsafeBytes { Hexadecimal.encode($0) } }

    @Test("Argon2id accepts passphrases of any bytes")
    func argon2id() throws {
        for (passphrase, salt, passes, memory, key) in [
            (
                Array("password".utf8), [UInt8](0..<16), 1, 8,
                "3a008963c65f7ffa7331a90babd1fd17ea9f03bd05356b857ceb43f7b7080adc"
            ),
            (
                Array("correct horse".utf8), [UInt8](0..<16), 3, 64,
                "a1dc6a57c61d5fb470584e24085ea3216fd369c61bcd5f845745f9cb0ed02fca"
            ),
            (
                [0xC3, 0xA9, 0x00, 0xFF, 0x0A], [UInt8](repeating: 0xFF, count: 16), 2, 1024,
                "e85230f488a4b1c34dc23ed24c29c73d4a45a90b92e4c89cfc8958cba66190d8"
            ),
        ] as [([UInt8], [UInt8], UInt32, UInt64, String)] {
            let cost = try #require(Argon2id.Cost(passes: passes, memory: memory << 10))
            let derived = try Argon2id.key(from: SecretBytes(passphrase), salt: salt, cost: cost)
            #expect(Self.text(derived) == key)
        }
    }

    @Test("BLAKE2b hashes and derives keys of all lengths")
    func blake2b() {
        #expect(
            Hexadecimal.encode(BLAKE2b.hash([]))
                == "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8")
        #expect(
            Hexadecimal.encode(BLAKE2b.hash([UInt8](0...255)))
                == "39a7eb9fedc19aabc83425c6755dd90e6f9d0c804964a1f4aaeea3b9fb599835")
        for (length, context, key) in [
            (32, [1, 2, 3], "1fe3866a1ed70c4d62f8cc9bb4453b756d966699a5609d1c200cb4a23517e935"),
            (16, [], "1b367de088a55aec640a9548139d72817d82a0fe07666f58b22515864ad90320"),
            (64, [UInt8](0..<200), "2987e66aaf017f9cbdbe846690fa6775ba4703164f4dec4027d558c251e77f17"),
        ] as [(UInt8, [UInt8], String)] {
            #expect(Self.text(BLAKE2b.derive("use", context, from: SecretBytes([UInt8](0..<length)))) == key)
        }
    }

    @Test("AES-256-GCM with 16-byte nonces for all lengths")
    func longNonce() throws {
        let (key, nonce) = (WipedBytes([UInt8](0..<32)), [UInt8](100..<116))
        for (plaintext, authenticated, sealed) in [
            ([], [], "8cdb05afd6965abaee9c833e43d04b1c"),
            ([7], Array("a".utf8), "df205e640bc7a02fd4a44c965610089438"),
            (
                [UInt8](0..<100), [UInt8](0..<33),
                "d8b24152e01121dfbaf0a7824bdae26a4a604ad388faf61cdd990e7585ea19d75be0acef44eec5e62926652e3b5ce21d"
                    + "e96c76c495d472d4182de4248c72bd133558e5cd3da19a05c42133857d2ce7332c447ea1271241b12907fcfdf1383c34"
                    + "f312f940753894036b991eeb3d2ea45e3a12194a"
            ),
            (
                [UInt8](repeating: UInt8(ascii: "x"), count: 64), [],
                "a0cb3b299c6c5fa0ca81d5f13faf941d220920b8e4979873bdf86c16e18f7fb003b9f6b418b39bb97977377d6f09b44a"
                    + "a1253c8fd9993c9b586ca667c837fb547eed2f7645af1176391a55f461bf89b2"
            ),
        ] as [([UInt8], [UInt8], String)] {
            let expected = try Self.bytes(sealed)
            let (ciphertext, tag) = LongNonceCipher.seal(
                plaintext, key: key, nonce: nonce, authenticated: authenticated)
            #expect(ciphertext + tag == expected)
            #expect(
                LongNonceCipher.open(
                    ciphertext, tag: tag, key: key, nonce: nonce, authenticated: authenticated)
                    == plaintext)
        }
    }

    @Test("X25519 and X448 agreements")
    func agreements() throws {
        let alice = try AgreementKey(rawValue: [UInt8](1...32))
        let bob = try AgreementKey(rawValue: [UInt8](101...132))
        #expect(
            Hexadecimal.encode(alice.publicKey)
                == "302a300506032b656e03210007a37cbc142093c8b755dc1b10e86cb426374ad16aa853ed0bdfc0b2b86d1c7c")
        #expect(
            Hexadecimal.encode(bob.publicKey)
                == "302a300506032b656e0321005714769d116bf76436ae74bc793d2c30ad1903c59ac5273805c7e2698b410c36")
        #expect(
            Hexadecimal.encode(alice.pkcs8)
                == "302e020100300506032b656e042204200102030405060708090a0b0c0d0e0f101112131415161718191a1b1c"
                + "1d1e1f20")
        let shared = "c9ea6a3f79a000b60b076d4afc990b272f3f0b5aaa3f0b8713c209273e363863"
        #expect(Hexadecimal.encode(try alice.sharedSecret(with: bob.publicKey)) == shared)
        #expect(Hexadecimal.encode(try bob.wipedSecret(with: alice.publicKey).bytes) == shared)

        let (first, second) = (
            try X448Key(rawValue: WipedBytes([UInt8](1...56))),
            try X448Key(rawValue: WipedBytes([UInt8](101...156)))
        )
        #expect(
            Hexadecimal.encode(first.publicKey.spki)
                == "3042300506032b656f033900bda7365ba1bd9a66f2ef38db6ec5ac5fad5452e990d8b2f88f721fd53363237e"
                + "775f65205d1d4667d473f0e1f4c57694d2d802e8dff06026")
        #expect(
            Hexadecimal.encode(second.publicKey.spki)
                == "3042300506032b656f03390015bcc15668e4269e486c2f45ff909d99ba94725ec7225a114dfa19c8a3eb3d02"
                + "b59d25901254afb5752fbeaca3b8bc29f6f101075ffcd881")
        let secret =
            "b865aea0b942ad54a2e34a1f33521b3811fc459fb13d1e91b50a234daddcfaa1ca7c6da40c2b314782d2fb05"
            + "9128e8e21ba7a5a2a1a664a2"
        #expect(Hexadecimal.encode(try first.sharedSecret(with: second.publicKey).bytes) == secret)
        let stored = try #require(X448Key(rawValue: second.rawValue, publicKey: second.publicKey))
        #expect(Hexadecimal.encode(try stored.sharedSecret(with: first.publicKey).bytes) == secret)
    }

    @Test("signatures with S + L are rejected (RFC 8032, 5.1.7)")
    func signatures() throws {
        let message = Array("chatfs".utf8)
        let key = try SigningKey(seed: [UInt8](0..<32))
        #expect(
            Hexadecimal.encode(key.publicKey)
                == "302a300506032b657003210003a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8")
        #expect(
            Hexadecimal.encode(key.pkcs8)
                == "302e020100300506032b657004220420000102030405060708090a0b0c0d0e0f101112131415161718191a1b"
                + "1c1d1e1f")
        let signature =
            "2805cb9429c92256f43908f31db97118b2675eba5bb68fc482c71e15fc287c0085bab4cb2f4de8f8b6ad14a6"
            + "14b7b205004457b28eca9ddf418f9a5c288cf604"
        #expect(Hexadecimal.encode(key.sign(message)) == signature)
        let verifying = try #require(VerifyingKey(spki: key.publicKey))
        #expect(verifying == key.verifyingKey && verifying.algorithm == .ed25519)
        #expect(verifying.isValid(try Self.bytes(signature), for: message))
        // The same signature with the group order added to S.
        let other =
            "2805cb9429c92256f43908f31db97118b2675eba5bb68fc482c71e15fc287c00728eaa284ab0fa508d4a0c49"
            + "f3b0911a004457b28eca9ddf418f9a5c288cf614"
        #expect(!verifying.isValid(try Self.bytes(other), for: message))

        let ed448 = try #require(
            VerifyingKey(
                spki: Self.bytes(
                    "3043300506032b6571033a0018d0a70e42a742dfb561279893385061d7b4dad8f6feed4791eaab66b2f4a4f0"
                        + "2fc09462a8bfb1842d0bac60e8a1b3e55ba2407f33226f3800")))
        #expect(ed448.algorithm == .ed448)
        #expect(
            ed448.isValid(
                try Self.bytes(
                    "24bbb9a7bd27a28742d467d98f1d2d302b3aeb9458ca7a8b56d7da1e3aea681704c3f2dec0717fa7dc12fad9"
                        + "bf68608bed5412c525f0e00000ef27c8d8ac85ae161b2c0e66262b865b38a0504f736a0449946152b1282442"
                        + "36ac685395911d8fc2cf74617a79a725a9acefbe63915de81500"),
                for: message))
        #expect(
            !ed448.isValid(
                try Self.bytes(
                    "24bbb9a7bd27a28742d467d98f1d2d302b3aeb9458ca7a8b56d7da1e3aea681704c3f2dec0717fa7dc12fad9"
                        + "bf68608bed5412c525f0e00000e26c20843f48273a70bbd3f398edf27cc8d626febc45530d7e851c2e282442"
                        + "36ac685395911d8fc2cf74617a79a725a9acefbe63915de85500"),
                for: message))
    }

    @Test("altered signatures are rejected")
    func alteredSignatures() throws {
        let message = Vectors.bytes(40)
        let key = try SigningKey(seed: [UInt8](0..<32))
        let signature = key.sign(message)
        for bit in 0..<512 {
            var altered = signature
            altered[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!key.verifyingKey.isValid(altered, for: message), "bit \(bit)")
        }
        for bit in 0..<message.count * 8 {
            var altered = message
            altered[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!key.verifyingKey.isValid(signature, for: altered))
        }
        for length in [0, 1, 63, 65, 114, 128] {
            #expect(!key.verifyingKey.isValid(Array((signature + signature).prefix(length)), for: message))
        }
        #expect(!key.verifyingKey.isValid(signature, for: []))
        #expect(!key.verifyingKey.isValid(signature, for: message + [0]))
    }

    @Test("keys of small order are rejected (RFC 7748, 6.1)")
    func smallOrder() throws {
        let own = AgreementKey.generate()
        let ends: [[UInt8]] = [
            [UInt8](repeating: 0, count: 32), [1] + [UInt8](repeating: 0, count: 31),
            // p - 1, p and p + 1
            [0xEC] + [UInt8](repeating: 0xFF, count: 30) + [0x7F],
            [0xED] + [UInt8](repeating: 0xFF, count: 30) + [0x7F],
            [0xEE] + [UInt8](repeating: 0xFF, count: 30) + [0x7F],
            try Self.bytes("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
            try Self.bytes("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
        ]
        for end in ends {
            let error = #expect(throws: CryptographyError.self, "\(Hexadecimal.encode(end))") {
                try own.sharedSecret(with: KeyForm.x25519Public.encode(end))
            }
            #expect(error?.code == .invalidKey)
        }
        for raw in [[UInt8](repeating: 0, count: 56), [1] + [UInt8](repeating: 0, count: 55)] {
            let error = #expect(throws: CryptographyError.self) {
                try X448Key.generate().sharedSecret(with: try #require(X448PublicKey(rawValue: raw)))
            }
            #expect(error?.code == .invalidKey)
        }
    }

    /// RFC 8439, section 2.5.2.
    @Test("Poly1305 matches the RFC")
    func poly1305() throws {
        let key = try Self.bytes("85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b")
        let message = Array("Cryptographic Forum Research Group".utf8)
        let tag = key.withUnsafeBytes { key in message.withUnsafeBytes { Poly1305.tag(of: $0, key: key) } }
        #expect(tag == SIMD16(try Self.bytes("a8061dc1305136c6c22b8baf0c0127a9")))
    }
}
