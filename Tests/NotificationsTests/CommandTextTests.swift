import Testing

@testable import Notifications

@Suite("Removal of command hints")
struct CommandTextTests {
    @Test(
        "only sentences about commands are removed",
        arguments: [
            ("It failed.", "It failed."),
            ("It failed. 'chatfs retry' sends it again.", "It failed."),
            ("'chatfs retry' sends it again. It failed.", "It failed."),
            (
                "Compare the code with the contact: 'chatfs contact verify'.",
                "Compare the code with the contact."
            ),
            ("Allow it: chatfs approve xftp://a@b.", "Allow it."),
            ("Mounted without --delete: entries are kept. Sorry.", "Sorry."),
            (
                "Its file is at chatfs.example. A -- dash stays.",
                "Its file is at chatfs.example. A -- dash stays."
            ),
            ("Run chatfs approve.", "Run chatfs approve."),
            ("", ""),
        ])
    func removed(text: String, expected: String) {
        #expect(CommandText.removed(from: text) == expected)
    }
}
