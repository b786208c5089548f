import Testing

@testable import QRCodes

/// Codes of links to phones, which are the longest.
@Suite struct OctantTests {
    private func code(_ width: Int) throws -> QRCode {
        try #require(QRCode(width: width, isDark: (0..<width * width).map { $0 % 3 == 0 }))
    }

    @Test func linksToPhonesFitAsOctants() throws {
        let code = try code(85)
        #expect(code.lines(on: .dark, style: .sextants, columns: 80, rows: 22) == nil)
        let lines = try #require(code.lines(on: .dark, style: .octants, columns: 80, rows: 22))
        #expect(lines.count == 22 && lines.allSatisfy { $0.count == 44 })
    }

    @Test func leastSizeIsTheSmallestThatFits() throws {
        let code = try code(85)
        for style in [QRCode.Style.halfBlocks, .sextants, .octants, .ascii] {
            let least = code.leastSize(of: style)
            #expect(code.lines(on: .dark, style: style, columns: least.columns, rows: least.rows) != nil)
            #expect(code.lines(on: .dark, style: style, columns: least.columns - 1, rows: least.rows) == nil)
            #expect(code.lines(on: .dark, style: style, columns: least.columns, rows: least.rows - 1) == nil)
        }
    }

    /// Unicode has 230 octants, and other blocks for the remaining patterns.
    @Test func everyPatternHasItsCharacter() {
        let characters = (0..<256).map { QRCode.octant(UInt32($0)) }
        #expect(Set(characters).count == 256)
        let octants = characters.filter { (0x1CD00...0x1CDE5).contains($0.unicodeScalars.first?.value ?? 0) }
        #expect(octants.count == 230)
        #expect(characters[0b0000_0100] == "\u{1CD00}" && characters[0b1111_1110] == "\u{1CDE5}")
        #expect(characters[0b0101_0101] == "▌" && characters[0xFF] == "█" && characters[0] == " ")
    }
}
