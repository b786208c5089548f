import Base
import COpenSSL
import CSodium
import Testing

@testable import Cryptography

/// Examples of the standards, and comparisons of OpenSSL with libsodium.
@Suite("Examples of the standards")
struct StandardsTests {
    private static func bytes(_ text: String) throws -> [UInt8] { try #require(Hexadecimal.decode(text)) }

    /// FIPS 180-4 and 202: no bytes, "abc", and a million times "a".
    @Test("hashes match FIPS 180-4 and 202")
    func hashes() {
        let abc = Array("abc".utf8)
        #expect(
            Hexadecimal.encode(SHA256.hash([UInt8]()))
                == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(
            Hexadecimal.encode(SHA512.hash([]))
                == "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
                + "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e")
        #expect(
            Hexadecimal.encode(SHA3.hash256([]))
                == "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a")
        #expect(
            Hexadecimal.encode(SHA3.hash256(abc))
                == "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532")
        #expect(
            Hexadecimal.encode(SHA3.hash384(abc))
                == "ec01498288516fc926459f58e2c6ad8df9b473cb0fc08c2596da7cf0e49be4b2"
                + "98d88cea927ac7f539f1edf228376d25")
        var long = SHA256()
        for _ in 0..<1000 { long.update([UInt8](repeating: UInt8(ascii: "a"), count: 1000)) }
        #expect(
            Hexadecimal.encode(long.finalize())
                == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    /// RFC 8032 section 7.1, tests 1 and 2.
    @Test("Ed25519 signatures match RFC 8032")
    func ed25519() throws {
        for (seed, publicKey, message, signature) in [
            (
                "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
                    + "d25bf5f0595bbe24655141438e7a100b"
            ),
            (
                "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
                "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
                    + "387b2eaeb4302aeeb00d291612bb0c00"
            ),
        ] {
            let key = try SigningKey(seed: Self.bytes(seed))
            #expect(key.publicKey.suffix(32).elementsEqual(try Self.bytes(publicKey)))
            #expect(key.sign(try Self.bytes(message)) == (try Self.bytes(signature)))
            #expect(key.verifyingKey.isValid(try Self.bytes(signature), for: try Self.bytes(message)))
        }
    }

    @Test("Poly1305 of OpenSSL and libsodium are equal")
    func poly1305() {
        var dice = Dice(seed: 1)
        for length in Array(0...70) + [1000, 65_537] {
            let key = Vectors.bytes(32, seed: UInt64(length) + 1)
            let bytes = Vectors.bytes(length, seed: 7)
            var expected = [UInt8](repeating: 0, count: 16)
            crypto_onetimeauth(&expected, bytes, UInt64(bytes.count), key)
            key.withUnsafeBytes { key in
                bytes.withUnsafeBytes { bytes in
                    #expect(Poly1305.tag(of: bytes, key: key) == SIMD16(expected))
                    var running = Poly1305(key: key)
                    var done = 0
                    while done < length {
                        let count = Int.random(in: 0...length - done, using: &dice)
                        running.update(UnsafeRawBufferPointer(rebasing: bytes[done..<done + count]))
                        done += count
                    }
                    #expect(running.finalize() == expected && running.tag == SIMD16(expected))
                }
            }
        }
    }

    @Test("message boxes equal NaCl's")
    func messageBox() throws {
        let nonce = Vectors.bytes(24)
        for length in [0, 1, 15, 16, 17, 1000] {
            let message = Vectors.bytes(length, seed: 3)
            var (publicKey, secret) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 32))
            crypto_box_keypair(&publicKey, &secret)
            let own = try AgreementKey(rawValue: Vectors.bytes(32, seed: 5))
            var theirs = [UInt8](repeating: 0, count: length + 16)
            let ownPublic = Array(own.publicKey.suffix(32))
            #expect(crypto_box_easy(&theirs, message, UInt64(length), nonce, ownPublic, secret) == 0)
            let key = try own.wipedSecret(with: KeyForm.x25519Public.encode(publicKey))
            #expect(MessageBox.seal(message, key: key, nonce: nonce) == theirs)
            #expect(MessageBox.open(theirs, key: key, nonce: nonce) == message)
        }
    }

    /// RFC 5869 with SHA-512, from its text and OpenSSL's HMAC.
    @Test("HKDF matches RFC 5869 for all lengths")
    func hkdf() {
        func authenticate(_ key: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
            var (tag, count) = ([UInt8](repeating: 0, count: 64), UInt32(0))
            HMAC(EVP_sha512(), key, Int32(key.count), bytes, bytes.count, &tag, &count)
            return tag
        }
        func model(_ input: [UInt8], _ salt: [UInt8], _ info: String, _ count: Int) -> [UInt8] {
            let key = authenticate(salt, input)
            var (all, last) = ([UInt8](), [UInt8]())
            for round in UInt8(1)...255 where all.count < count {
                last = authenticate(key, last + Array(info.utf8) + [round])
                all += last
            }
            return Array(all.prefix(count))
        }
        let input = Vectors.bytes(50)
        for salt in [[], Vectors.bytes(1), Vectors.bytes(64), Vectors.bytes(200)] {
            for (info, count) in [("", 0), ("a", 1), ("SimpleX", 63), ("x", 64), ("x", 65), ("", 16_320)] {
                let derived = HKDF.derive(
                    from: WipedBytes(input), salt: WipedBytes(salt), info: info, count: count)
                #expect(derived.bytes == model(input, salt, info, count))
            }
        }
        #expect(HKDF.derive(from: WipedBytes(input), info: "x", count: 9).bytes == model(input, [], "x", 9))
    }
}
