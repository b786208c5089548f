import ChatCore
import Testing

@Suite struct SafeFileNameTests {
    @Test(arguments: [
        ("report.pdf", "report.pdf"),
        ("two words.txt", "two words.txt"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\photo.jpg", "photo.jpg"),
        (".bashrc", "bashrc"),
        ("...hidden", "hidden"),
        ("trailing  ", "trailing"),
        ("in\u{0}side\u{7}.txt", "inside.txt"),
        ("invoice\u{202E}fdp.exe", "invoicefdp.exe"),
        ("e\u{301}te\u{301}.txt", "\u{E9}t\u{E9}.txt"),
        ("🏔 mountain.jpg", "🏔 mountain.jpg"),
        // A slash or dot with a combining accent: one character, several scalars.
        ("a/\u{338}b/\u{301}c.txt", "\u{301}c.txt"),
        (".\u{301}bashrc", "\u{301}bashrc"),
        ("name.\u{20}\u{FEFF}", "name"),
        ("in\u{200B}voice\u{AD}.p\u{2060}df", "invoice.pdf"),
        ("report\u{2215}2024\u{2044}1\u{29F8}2\u{FF0F}3.pdf", "report_2024_1_2_3.pdf"),
        ("-rf", "_rf"), ("a/--help", "_-help"), (".-x", "_x"),
        ("a\u{2800}b\u{2800}", "a b"),
    ])
    func receivedNameIsSanitised(sent: String, shown: String) throws {
        let safe = try #require(SafeFileName.make(from: sent))
        #expect(Array(safe.utf8) == Array(shown.utf8))
        #expect(SafeFileName.make(from: safe) == safe)
    }

    @Test(arguments: ["", "/", "..", ". .", "\u{202E}", "a/..", "\u{1}\u{2}", "\u{3164}\u{2800}"])
    func emptyResultIsNil(sent: String) {
        #expect(SafeFileName.make(from: sent) == nil)
    }

    @Test(arguments: [
        ("Alice", "Alice"), ("x/Alice", "x_Alice"), ("a\\b", "a_b"), ("/", "_"), (".chatfs", "_chatfs"),
        ("..", "__"), (" Alice ", "Alice"), ("\u{200B}Alice", "Alice"), ("-Alice", "_Alice"),
        ("../../Alice", "___.._Alice"), ("\u{202E}/a", "_a"), ("Al\u{3164}ice", "Alice"),
    ])
    func titleIsNotCutAtSlashes(title: String, shown: String) throws {
        let safe = try #require(SafeFileName.make(fromTitle: title))
        #expect(Array(safe.utf8) == Array(shown.utf8))
        #expect(SafeFileName.make(fromTitle: safe) == safe)
    }

    @Test func longNameKeepsExtension() throws {
        let long = String(repeating: "ü", count: 200) + ".tar.gz"
        let safe = try #require(SafeFileName.make(from: long))
        #expect(safe.utf8.count <= 255 && safe.utf8.count >= 253)
        #expect(safe.hasSuffix("ü.tar.gz"))
        #expect(SafeFileName.make(from: String(repeating: "x", count: 255))?.utf8.count == 255)
        #expect(SafeFileName.make(from: "x." + String(repeating: "y", count: 400))?.utf8.count == 255)
    }

    @Test(arguments: ["", ".pdf"])
    func letterWithHundredsOfAccentsIsCut(suffix: String) throws {
        for count in [120, 127, 128, 200, 5000] {
            let safe = try #require(
                SafeFileName.make(from: "a" + String(repeating: "\u{334}", count: count) + suffix))
            #expect(safe.utf8.count <= 255 && safe.utf8.count > 200)
            #expect(
                safe.utf8.starts(with: "a\u{334}".utf8)
                    && safe.utf8.suffix(4).elementsEqual(suffix.utf8) != suffix.isEmpty)
            #expect(SafeFileName.make(from: safe) == safe)
        }
    }

    @Test func numberIsInsertedWithinLimit() {
        #expect(SafeFileName.numbered("report.pdf", 2) == "report (2).pdf")
        #expect(SafeFileName.numbered("a.tar.gz", 3) == "a (3).tar.gz")
        #expect(SafeFileName.numbered("noextension", 2) == "noextension (2)")
        #expect(SafeFileName.numbered(".profile", 2) == ".profile (2)")
        let long = SafeFileName.numbered(String(repeating: "n", count: 251) + ".txt", 12)
        #expect(long.utf8.count == 255 && long.hasSuffix(" (12).txt"))
    }

    @Test(arguments: [
        ("a.TAR.gz", "a", ".TAR.gz"), ("tar.gz", "tar", ".gz"), (".tar.gz", ".tar", ".gz"),
        ("a.tar", "a", ".tar"), ("a.tar.", "a", ".tar."), ("a.b.", "a.b", "."),
        // Characters other than a dot: with a combining accent, or after a prepending sign.
        ("a.b.\u{301}c", "a", ".b.\u{301}c"), ("a.\u{301}c", "a.\u{301}c", ""),
        ("a\u{600}.pdf", "a\u{600}.pdf", ""), ("a.\u{301}tar.gz", "a.\u{301}tar", ".gz"),
        ("a\u{600}.tar.gz", "a\u{600}.tar", ".gz"),
    ])
    func extensionStartsAtWholeDotCharacter(name: String, stem: String, suffix: String) {
        let parts = SafeFileName.split(name)
        #expect(Array(parts.stem.utf8) == Array(stem.utf8) && Array(parts.suffix.utf8) == Array(suffix.utf8))
    }

    @Test func cutKeepsCharactersAndDropsJoiner() {
        #expect(SafeFileName.shortened("ab👩\u{200D}👧", to: 10) == "ab")
        #expect(SafeFileName.shortened("abcdefgh\u{200D}ijk", to: 11) == "abcdefgh")
        #expect(SafeFileName.shortened("a b .cdefgh", to: 6) == "a b .c")
        #expect(SafeFileName.shortened("abc .....def.txt", to: 10) == "abc.txt")
    }

    /// Compares the fast paths with Unicode's tables.
    @Test func droppedScalarsMatchUnicodeTables() {
        // Default-ignorable ranges, and the last two scalars of each plane.
        let ranges: [ClosedRange<UInt32>] =
            [0x80...0x31FF, 0xFD00...0xFFFF, 0x1BC00...0x1BCFF, 0x1D100...0x1D1FF, 0xE0000...0xE0FFF]
            + (1...16).map { $0 << 16 | 0xFFFE...$0 << 16 | 0xFFFF }
        for value in ranges.joined() {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let properties = scalar.properties
            let isDropped =
                properties.isBidiControl || properties.isNoncharacterCodePoint
                || properties.isDefaultIgnorableCodePoint || properties.generalCategory == .control
                || [.lineSeparator, .paragraphSeparator].contains(properties.generalCategory)
                || (0xFFF9...0xFFFB).contains(value)
            // Skip pairs that may form one character.
            let name = SafeFileName.make(from: "a b\(scalar)c")
            if (name == "a bc") != isDropped { Issue.record("\(String(value, radix: 16))") }
        }
    }

    /// Compares the ASCII fast path with Unicode's tables.
    @Test func asciiFastPathMatchesUnicodeTables() {
        for value in UInt8.min..<0x80 {
            let scalar = Unicode.Scalar(value)
            let isControl = scalar.properties.generalCategory == .control
            let expected =
                isControl ? "ab" : scalar == "/" || scalar == "\\" ? "b" : "a\(scalar)b"
            #expect(SafeFileName.make(from: "a\(scalar)b") == expected)
            // Next to non-ASCII text, where the whole is normalised.
            #expect(SafeFileName.make(from: "a\(scalar)b\u{E9}") == expected + "\u{E9}")
            let isDroppedAtEnds = isControl || scalar.properties.isWhitespace || scalar == "."
            if isDroppedAtEnds { #expect(SafeFileName.make(from: "\(scalar)a\(scalar)") == "a") }
        }
    }
}
