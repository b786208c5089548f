import Base
import Testing

@testable import Cryptography

@Suite struct HashTests {
    /// FIPS 180-4, the message "abc".
    @Test func hashesMatchTheStandard() {
        #expect(
            Hexadecimal.encode(SHA256.hash(Array("abc".utf8)))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            Hexadecimal.encode(SHA512.hash(Array("abc".utf8)))
                == "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f")
    }

    @Test func piecesAndCopiesGiveSameHash() {
        let bytes = Vectors.bytes(100_000)
        var hash = SHA512()
        hash.update(Array(bytes[..<1]))
        hash.update([])
        let half = hash
        hash.update(Array(bytes[1...]))
        #expect(hash.finalize() == SHA512.hash(bytes))
        #expect(hash.finalize() == SHA512.hash(bytes))
        #expect(half.finalize() == SHA512.hash([bytes[0]]))
        var continued = half
        continued.update(Array(bytes[1...]))
        #expect(continued.finalize() == hash.finalize())
    }

    /// RFC 1321, appendix A.5.
    @Test func md5() {
        #expect(Hexadecimal.encode(MD5.hash([])) == "d41d8cd98f00b204e9800998ecf8427e")
        #expect(Hexadecimal.encode(MD5.hash(Array("abc".utf8))) == "900150983cd24fb0d6963f7d28e17f72")
    }

    @Test func comparisonCoversAllBytes() {
        #expect(constantTimeEqual([], []))
        #expect(constantTimeEqual([1, 2], [1, 2]))
        #expect(!constantTimeEqual([1, 2], [1, 3]))
        #expect(!constantTimeEqual([1, 2], [1, 2, 3]))
    }
}
