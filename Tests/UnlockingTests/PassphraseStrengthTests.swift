import Cryptography
import Testing

@testable import Unlocking

@Suite struct PassphraseStrengthTests {
    private func weakness(_ text: String) -> String? {
        PassphraseStrength.weakness(of: SecretBytes(Array(text.utf8)))
    }

    @Test(arguments: [
        "a", "password", "letmein1", "12345678901234567890", "aaaaaaaaaaaaaaaaaaaaaaaa",
        "qwertyuiopasdfghjkl",
        "abcabcabcabcabcabcabc", "Secret1!",
    ])
    func weakPassphrasesAreTold(_ text: String) { #expect(weakness(text) != nil) }

    @Test(arguments: [
        "correct horse battery staple", "correct horse", "vW9#kq2LxT7p", "zwölf Boxkämpfer jagen",
    ])
    func strongPassphrasesAreNot(_ text: String) { #expect(weakness(text) == nil) }

    @Test func everyLengthHasAnAnswer() {
        for count in [1, 2, 3, 100, 1024] {
            _ = weakness(String(repeating: "ab1", count: count).prefix(count).description)
        }
    }
}
