import Testing

@testable import chatfs

/// The filter of `chatfs find --text` agrees with the search itself.
@Suite struct WordFilterTests {
    private func mayFit(_ words: String..., in line: String) -> Bool {
        WordFilter(words)
            .mayFit(Array(line.utf8)[...])
    }

    @Test func everyWordMustBeInTheLine() {
        let line = #"{"event":"message","text":"Train TICKETS for Sunday"}"#
        #expect(mayFit("train", "tickets", in: line) && mayFit("icket", in: line))
        #expect(!mayFit("train", "monday", in: line) && !mayFit("sundays", in: line))
        #expect(mayFit("day\"}", in: line), "quotes have several forms in JSON")
        #expect(!mayFit("a", in: "") && mayFit("ab", in: "aab") && !mayFit("ab", in: "a"))
    }

    @Test(arguments: [#"a"b"#, #"a\b"#, "a/b", "é", "a\u{1}"])
    func wordsWithSeveralFormsExcludeNothing(_ word: String) {
        #expect(mayFit(word, in: "{}"))
    }

    @Test func lineBeyondASCIIMayFit() {
        // The Kelvin sign is a k in lower case.
        #expect(mayFit("k", in: #"\u212a"#) && mayFit("k", in: "\u{212A}"))
        #expect("\u{212A}".lowercased().contains("k"))
    }

    /// Whatever fits must pass the filter.
    @Test func fittingLinesPass() throws {
        let texts = [
            "plain words", "KELVIN \u{212A}", "Straße", "İstanbul", "tab\tand\nline", #"q"uo\te/s"#, "",
        ]
        for text in texts {
            let encoded = text.unicodeScalars.map { scalar -> String in
                switch scalar {
                case "\"", "\\": "\\\(scalar)"
                case "\t", "\n": "\\u000" + String(scalar.value, radix: 16)
                default: String(scalar)
                }
            }.joined()
            for word in text.lowercased().split(whereSeparator: \.isWhitespace) {
                let search = try TextSearch(String(word), from: nil)
                var message = LoggedMessage(event: "message")
                message.text = text
                #expect(search.fits(message))
                #expect(mayFit(String(word), in: "{\"text\":\"\(encoded)\"}"), "\(text): \(word)")
            }
        }
    }
}
