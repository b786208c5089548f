import Testing

@testable import Notifications

@Suite("Secrets in captions are not told")
struct SecretTextTests {
    @Test(
        "what stands between number signs is hidden",
        arguments: [
            ("the code is #1234#", "the code is …"), ("#a#", "…"), ("#a b# and #c#", "… and …"),
            ("##deep##", "…"), ("x#y#z", "x…z"), ("#over\nlines#", "…"),
        ])
    func hidden(text: String, told: String) { #expect(SecretText.hiding(text) == told) }

    @Test(
        "number signs that mark nothing stay",
        arguments: ["", "#", "##", "issue #1 and #2", "C# ", "# not a secret #", "#open", "a # b"])
    func stays(text: String) { #expect(SecretText.hiding(text) == text) }

    @Test("a secret behind signs that mark nothing is hidden too")
    func behind() { #expect(SecretText.hiding("# a #secret#") == "# a …") }
}
