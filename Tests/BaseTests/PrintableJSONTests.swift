import Base
import Testing

@Suite struct PrintableJSONTests {
    @Test func escapesDisplayControls() {
        let text = "{\"a\": \"\u{85}\u{9b}31m\u{7f} \u{202e}fdp\u{2066}\u{200f}\u{61c}\u{2028}\"}"
        let escaped = "{\"a\": \"\\u0085\\u009b31m\\u007f \\u202efdp\\u2066\\u200f\\u061c\\u2028\"}"
        #expect(PrintableJSON.escaping(text) == escaped)
    }

    @Test func leavesEverythingElse() {
        let text = "{\n\t\"name\": \"Ünïcode 👩‍👩‍👧 \\n שלום\"\r\n}\n"
        #expect(PrintableJSON.escaping(text) == text)
    }
}
