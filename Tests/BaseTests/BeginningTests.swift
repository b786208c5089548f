import Testing

@testable import Base

@Suite("The beginning of a text")
struct BeginningTests {
    @Test(
        "has a limit and no split scalar",
        arguments: [
            ("", 3, ""), ("abc", 3, "abc"), ("abcd", 3, "abc"), ("éé", 3, "é"), ("é", 1, ""),
            ("a\u{1F600}", 4, "a"), ("a\u{1F600}", 5, "a\u{1F600}"), ("abc", 0, ""),
            ("e\u{301}\u{301}", 3, "e\u{301}"),
        ])
    func limit(_ text: String, _ bytes: Int, _ beginning: String) {
        #expect(text.beginning(bytes: bytes) == beginning)
    }
}
