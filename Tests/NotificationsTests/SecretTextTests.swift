import Testing

@testable import Notifications

@Suite("Hidden texts")
struct SecretTextTests {
    @Test(
        "text between number signs is hidden",
        arguments: [
            ("the code is #1234#", "the code is …"), ("#a#", "…"), ("#a b# and #c#", "… and …"),
            ("##deep##", "…"), ("x#y#z", "x…z"), ("#over\nlines#", "…"),
        ])
    func hidden(text: String, told: String) { #expect(SecretText.hiding(text) == told) }

    @Test(
        "unpaired number signs stay",
        arguments: ["", "#", "##", "issue #1 and #2", "C# ", "# not a secret #", "#open", "a # b"])
    func stays(text: String) { #expect(SecretText.hiding(text) == text) }

    @Test("a secret after unpaired signs is hidden")
    func behind() { #expect(SecretText.hiding("# a #secret#") == "# a …") }
}
