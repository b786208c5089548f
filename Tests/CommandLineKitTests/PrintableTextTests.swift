import Testing

@testable import CommandLineKit

@Suite("Names on terminals")
struct PrintableTextTests {
    @Test(
        "control and direction characters are escaped",
        arguments: [
            ("a\u{1B}[2Jb", "a\\u{1b}[2Jb"), ("two\nlines", "two\\u{a}lines"), ("\r", "\\u{d}"),
            ("\u{202E}gpj.exe", "\\u{202e}gpj.exe"), ("\u{2028}", "\\u{2028}"), ("\u{9B}31m", "\\u{9b}31m"),
        ])
    func escaped(text: String, shown: String) {
        #expect(PrintableText.escaping(text) == shown)
    }

    @Test("other characters stay", arguments: ["Grüße.txt", "👩‍👩‍👧.png", "a\tb", "می‌خواهم", ""])
    func kept(text: String) {
        #expect(PrintableText.escaping(text) == text)
    }

    @Test("ASCII terminals get substitutes in own texts")
    func ascii() {
        #expect(PrintableText.ascii("NAME… ██░ a — b → c, ü") == "NAME... ##. a - b -> c, ü")
    }
}
