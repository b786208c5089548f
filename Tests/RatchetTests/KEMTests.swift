import Base
import Cryptography
import TestSupport
import Testing

@testable import Ratchet

/// The KEM of libgcrypt, if installed. Debian 13 has it; Debian 12 does not.
@Suite struct KEMTests {
    @Test(.enabled(if: GcryptKEM.installed != nil, "libgcrypt 1.11 or later is not installed"))
    func publishedCiphertextsGivePublishedSecrets() throws {
        let kem = try #require(GcryptKEM.installed)
        let vector = try VectorValue.file("sntrup761")
        let key = try #require(
            KEMKey(publicKey: vector["publicKey"].bytes, secretKey: WipedBytes(vector["secretKey"].bytes)))
        var ciphertext = try vector["ciphertext"].bytes
        #expect(try kem.decapsulate(ciphertext, with: key).bytes == vector["sharedKey"].bytes)
        ciphertext[0] ^= 1
        #expect(try kem.decapsulate(ciphertext, with: key).bytes == vector["rejected_sharedKey"].bytes)
        #expect(throws: RatchetError.self) { try kem.decapsulate(ciphertext.dropLast(), with: key) }
        #expect(throws: RatchetError.self) { try kem.encapsulate(to: Array(key.publicKey.dropLast())) }
    }

    @Test(.enabled(if: GcryptKEM.installed != nil, "libgcrypt 1.11 or later is not installed"))
    func bothSidesGetSameSecret() throws {
        let kem = try #require(GcryptKEM.installed)
        let key = try kem.generate()
        let made = try kem.encapsulate(to: key.publicKey)
        #expect(try kem.decapsulate(made.ciphertext, with: key) == made.secret)
        #expect(try kem.generate().publicKey != key.publicKey)
    }

    @Test func wrongLengthsAreRejected() {
        let secret = WipedBytes([UInt8](repeating: 1, count: KEMLength.secretKey))
        #expect(KEMKey(publicKey: [1], secretKey: secret) == nil)
        #expect(KEMKey(publicKey: [UInt8](repeating: 1, count: 1158), secretKey: WipedBytes([1])) == nil)
        #expect(Encapsulation(ciphertext: [1], secret: WipedBytes([1])) == nil)
    }
}
