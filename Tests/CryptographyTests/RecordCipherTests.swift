import Base
import Testing

@testable import Cryptography

@Suite struct RecordCipherTests {
    /// The example of draft-irtf-cfrg-xchacha-03, A.3.1.
    @Test func recordCipherMatchesTheXChaChaDraft() throws {
        let cipher = RecordCipher(key: SecretBytes([UInt8](0x80...0x9F)))
        let place = try #require(Hexadecimal.decode("50515253c0c1c2c3c4c5c6c7"))
        let ciphertext = try #require(
            Hexadecimal.decode(
                "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39"
                    + "ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3"
                    + "fff921f9664c97637da9768812f615c68b13b52e"))
        let tag = try #require(Hexadecimal.decode("c0875924c1c7987947deafd8780acf49"))
        let sealed = ciphertext + [UInt8](0x40...0x57) + tag
        var plaintext = [UInt8](repeating: 0, count: ciphertext.count)
        let opened = sealed.withUnsafeBytes { sealed in
            place.withUnsafeBytes { cipher.open(sealed, authenticating: $0, into: &plaintext) }
        }
        #expect(opened)
        #expect(
            String(decoding: plaintext, as: UTF8.self)
                == "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
                + "sunscreen would be it.")
    }

    @Test(arguments: [0, 1, 24, 4056]) func sealedRecordsOpenAgain(_ count: Int) {
        let cipher = RecordCipher(key: SecretBytes(randomCount: 32))
        let plaintext = [UInt8](repeating: 5, count: count)
        var sealed = [UInt8](repeating: 0, count: count + RecordCipher.overhead)
        var opened = [UInt8](repeating: 0, count: count)
        let place: [UInt8] = [1, 2, 3]
        place.withUnsafeBytes { place in
            #expect(plaintext.withUnsafeBytes { cipher.seal($0, authenticating: place, into: &sealed) })
            #expect(sealed.withUnsafeBytes { cipher.open($0, authenticating: place, into: &opened) })
            sealed[0] ^= 1
            #expect(!sealed.withUnsafeBytes { cipher.open($0, authenticating: place, into: &opened) })
        }
        #expect(opened.allSatisfy { $0 == 0 })
    }
}

@Suite struct KeyDerivationTests {
    /// The example of RFC 7693's algorithm with 32 bytes of output.
    @Test func hashMatchesRFC7693() {
        #expect(
            Hexadecimal.encode(BLAKE2b.hash(Array("abc".utf8)))
                == "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319")
    }

    @Test func useContextAndKeyChangeTheDerivedKey() {
        let key = SecretBytes([UInt8](0..<32))
        let other = SecretBytes([UInt8](1..<33))
        let derived = [
            BLAKE2b.derive("a", [1], from: key), BLAKE2b.derive("b", [1], from: key),
            BLAKE2b.derive("a", [2], from: key), BLAKE2b.derive("a", [1], from: other),
            BLAKE2b.derive("a", [], from: key),
        ].map { $0.withUnsafeBytes { Array($0) } }
        #expect(Set(derived).count == derived.count)
        #expect(derived[0] == BLAKE2b.derive("a", [1], from: key).withUnsafeBytes { Array($0) })
    }
}
