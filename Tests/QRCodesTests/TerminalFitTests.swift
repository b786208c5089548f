import Testing

@testable import QRCodes

/// A code in a terminal of a given size.
@Suite struct TerminalFitTests {
    private func code(_ width: Int) throws -> QRCode {
        try #require(QRCode(width: width, isDark: (0..<width * width).map { $0 % 3 == 0 }))
    }

    @Test(arguments: [21, 25, 29, 33, 37, 41])
    func codesOfShortLinksFitIntoTheUsualTerminal(_ width: Int) throws {
        let lines = try #require(
            try code(width).lines(on: .dark, style: .halfBlocks, columns: 80, rows: 22))
        #expect(lines.count <= 22 && lines.allSatisfy { $0.count == lines[0].count && $0.count <= 80 })
        #expect(lines[0].count >= width + 2)
    }

    @Test func largeCodesDoNot() throws {
        #expect(try code(97).lines(on: .dark, style: .halfBlocks, columns: 80, rows: 22) == nil)
        #expect(try code(41).lines(on: .dark, style: .ascii, columns: 80, rows: 22) == nil)
        #expect(try code(41).lines(on: .dark, style: .halfBlocks, columns: 40, rows: 99) == nil)
    }

    @Test(arguments: [45, 49, 53, 57])
    func codesOfLongLinksFitAsSextants(_ width: Int) throws {
        let code = try code(width)
        #expect(code.lines(on: .dark, style: .halfBlocks, columns: 80, rows: 22) == nil)
        let lines = try #require(code.lines(on: .dark, style: .sextants, columns: 80, rows: 22))
        #expect(lines.count <= 22 && lines.allSatisfy { $0.count == lines[0].count && $0.count <= 80 })
        #expect(lines[0].count * 2 >= width + 2 && lines.count * 3 >= width + 2)
    }

    @Test func sextantsHaveEveryModule() throws {
        let code = try code(45)
        let lines = try #require(code.lines(on: .light, style: .sextants, columns: 80, rows: 22))
        #expect(lines.count == 18)
        let cells = lines.map { Array($0.unicodeScalars) }
        for row in 0..<45 {
            for column in 0..<45 {
                let (line, cell) = ((row + 4) / 3, (column + 4) / 2)
                let bit = UInt32(1) << UInt32((row + 4) % 3 * 2 + (column + 4) % 2)
                #expect((Self.bits(cells[line][cell]) & bit != 0) == code[row, column], "\(row) \(column)")
            }
        }
    }

    /// As the table of Unicode has them (Symbols for Legacy Computing).
    private static func bits(_ scalar: Unicode.Scalar) -> UInt32 {
        switch scalar {
        case " ": return 0
        case "▌": return 21
        case "▐": return 42
        case "█": return 63
        default:
            let number = scalar.value - 0x1FB00 + 1
            return number < 21 ? number : number < 41 ? number + 1 : number + 2
        }
    }

    @Test func asciiShowsEveryModule() throws {
        let code = try code(21)
        let lines = try #require(code.lines(on: .light, style: .ascii, columns: 80, rows: 40))
        #expect(lines.count == 29 && lines.allSatisfy { $0.count == 58 })
        for row in 0..<21 {
            let line = Array(lines[row + 4])
            for column in 0..<21 { #expect((line[(column + 4) * 2] == "#") == code[row, column]) }
        }
    }

    @Test func correctionIsAsHighAsTheSizeAllows() throws {
        guard let encoder = QREncoder.installed else { return }
        // 17 bytes at the lowest level are as wide as 7 at the highest.
        #expect(encoder.code(of: "1234567")?.width == 21)
        #expect(encoder.code(of: String(repeating: "a", count: 17))?.width == 21)
        #expect(encoder.code(of: String(repeating: "a", count: 134))?.width == 41)
    }
}
