import Cryptography
import Testing

@testable import Keyring

/// Other programs may change a keyring's text.
@Suite struct HexadecimalKeyTests {
    @Test func everyKeySurvivesARoundTrip() throws {
        for _ in 0..<50 {
            let key = SecretBytes(randomCount: 32)
            let text = HexadecimalKey.encoded(key)
            #expect(text.count == 64)
            #expect(try #require(HexadecimalKey.decoded(text)).isEqual(to: key))
        }
    }

    @Test(arguments: ["", "00", String(repeating: "0", count: 63), String(repeating: "G", count: 64)])
    func otherTextsAreNoKeys(_ text: String) {
        #expect(HexadecimalKey.decoded(SecretBytes(Array(text.utf8))) == nil)
    }

    @Test func keysThatDifferAnywhereAreNotTheSame() {
        let bytes = [UInt8](0..<32)
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 1
            #expect(!SecretBytes(bytes).isEqual(to: SecretBytes(other)))
        }
        #expect(!SecretBytes(bytes).isEqual(to: SecretBytes(Array(bytes.dropLast()))))
        #expect(SecretBytes(bytes).isEqual(to: SecretBytes(bytes)))
    }
}
