import TestSupport
import Testing

@testable import KeySlots

@Suite struct RecoveryCodeTests {
    @Test func codesAreReadInAnySpelling() throws {
        let code = RecoveryCode.random()
        let text = code.text
        #expect(text.count == 35 && text.split(separator: "-").map(\.count) == [5, 5, 5, 5, 5, 5])
        let typed = [
            text, text.lowercased(), text.replacing("-", with: " "), text.replacing("-", with: ""),
            "  \(text)\n", text.replacing("-", with: " – "), text.replacing("0", with: "o"),
            text.replacing("1", with: "l"), text.replacing("1", with: "I"),
        ]
        for text in typed { #expect(try RecoveryCode(text).symbols.bytes == code.symbols.bytes) }
    }

    /// One mistype in a million passes the check, so these letters are fixed.
    @Test func mistypedCodesAreDetected() throws {
        let text = "00000-00000-00000-00000-00000-0" + String(RecoveryCodeTests.check)
        _ = try RecoveryCode(text)
        var letters = Array(text)
        for place in letters.indices where letters[place] != "-" {
            let right = letters[place]
            letters[place] = right == "7" ? "8" : "7"
            let error = #expect(throws: KeySlotsError.self) { try RecoveryCode(String(letters)) }
            #expect(error?.code == .mistypedCode)
            letters[place] = right
        }
    }

    private static let check: String = {
        let zeros = "00000-00000-00000-00000-00000-0"
        for number in 0..<(1 << 20) {
            let letters = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
            let text = String([15, 10, 5, 0].map { letters[number >> $0 & 31] })
            if (try? RecoveryCode(zeros + text)) != nil { return text }
        }
        return "none"
    }()

    @Test(arguments: [
        "", "12345", "!!!!!", "U0000-00000", String(repeating: "0", count: 5000), "é", "\u{1F511}",
    ])
    func otherTextsGiveAnError(_ text: String) {
        let error = #expect(throws: KeySlotsError.self) { try RecoveryCode(text) }
        #expect(error?.code == .mistypedCode)
        #expect(error?.sentence.contains(text) != true || text.isEmpty)
    }

    @Test func codesAreUnique() {
        #expect(Set((0..<200).map { _ in RecoveryCode.random().text }).count == 200)
    }
}
