import ChatCore
import TestSupport
import Testing

@Suite("Text without invisible characters")
struct VisibleTextTests {
    private static func visible(_ text: String) -> String {
        String(String.UnicodeScalarView(VisibleText.removingInvisible(text.unicodeScalars)))
    }

    @Test(
        "invisible characters are removed",
        arguments: [
            "\u{200B}", "\u{AD}", "\u{2060}", "\u{3164}", "\u{115F}", "\u{1160}", "\u{FFA0}", "\u{34F}",
            "\u{17B4}", "\u{180E}", "\u{FEFF}", "\u{200C}", "\u{200D}", "\u{FE0F}", "\u{FE00}", "\u{E0100}",
            "\u{E0001}", "\u{E0041}\u{E0042}", "\u{1D173}", "\u{2064}", "\u{206F}",
        ])
    func removed(_ invisible: String) {
        #expect(Self.visible("pay" + invisible + "pal") == "paypal")
        #expect(Self.visible(invisible + "a" + invisible) == "a")
        #expect(Self.visible(invisible) == "")
    }

    @Test(
        "spelling of emoji and words is kept",
        arguments: [
            "👩\u{200D}👩\u{200D}👧", "❤\u{FE0F}\u{200D}🔥", "👩🏽\u{200D}🚀", "🏳\u{FE0F}\u{200D}🌈",
            "1\u{FE0F}\u{20E3}",
            "❤\u{FE0E}", "🇩🇪",
            // England: a black flag, gbeng in tags, and an end tag.
            "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
            // Persian, Sanskrit, Sinhala, Bengali, Malayalam.
            "می\u{200C}خواهم", "शरद\u{94D}\u{200C}काल", "ශ\u{DCA}\u{200D}රී", "র\u{200D}\u{9CD}যাব",
            "അവന\u{D4D}\u{200D}",
            // Distinguished by the selector after the ideograph; a variant of a Mongolian letter.
            "葛\u{E0100}城", "\u{1820}\u{180B}",
        ])
    func kept(_ text: String) {
        #expect(Array(Self.visible(text).unicodeScalars) == Array(text.unicodeScalars))
        #expect(SafeFileName.make(from: text) == text)
    }

    @Test(
        "stray joiners and tags are removed",
        arguments: [
            ("👩\u{200D}", "👩"), ("👩\u{200D}\u{200D}👧", "👩\u{200D}👧"), ("👩\u{200D}a", "👩a"),
            ("1\u{FE0F}", "1"),
            ("❤\u{FE0F}\u{FE0F}", "❤\u{FE0F}"), ("می\u{200C}", "می"), ("a\u{200C}b", "ab"),
            ("द\u{94D}\u{200D}\u{200D}", "द\u{94D}\u{200D}"),
            // A sentence in tags, a flag without end tag, tags after other text.
            ("🏴" + String((0..<40).map { _ in "\u{E0061}" }) + "\u{E007F}", "🏴"),
            ("🏴\u{E0067}\u{E0062}\u{E0065}", "🏴"), ("🙂\u{E0067}\u{E0062}\u{E0065}\u{E007F}", "🙂"),
        ])
    func stray(_ text: String, _ shown: String) {
        #expect(Array(Self.visible(text).unicodeScalars) == Array(shown.unicodeScalars))
    }

    @Test("random text becomes safe and stays unchanged")
    func anything() throws {
        let alphabet =
            Array(
                "ab1. -_/\\\u{200B}\u{200C}\u{200D}\u{FE0F}\u{FE0E}\u{20E3}\u{AD}\u{3164}👩🏽❤🏴\u{E0067}\u{E0062}\u{E007F}"
                    .unicodeScalars)
            + Array(
                "مید\u{94D}葛\u{E0100}\u{202E}\u{2215}\u{2800}\u{301}\u{338}e\u{212B}\u{1820}\u{180B}\u{3000}"
                    .unicodeScalars)
        var generator = SeededGenerator(state: 13)
        for _ in 0..<4000 {
            let count = Int.random(in: 0..<(Bool.random(using: &generator) ? 12 : 200), using: &generator)
            let text = String(
                String.UnicodeScalarView(
                    (0..<count).compactMap { _ in alphabet.randomElement(using: &generator) }))
            for make in [SafeFileName.make(from:), SafeFileName.make(fromTitle:)] {
                guard let safe = make(text) else { continue }
                #expect(make(safe).map { Array($0.utf8) } == Array(safe.utf8))
                #expect(safe.utf8.count <= SafeFileName.maxLength && !safe.isEmpty)
                #expect(!safe.utf8.contains(UInt8(ascii: "/")) && !"-. ".contains(safe.first ?? "-"))
            }
        }
    }
}
