import Testing

@testable import Notifications

@Suite("Notifications do not speak of commands")
struct CommandTextTests {
    @Test(
        "sentences about commands go, all others stay",
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
