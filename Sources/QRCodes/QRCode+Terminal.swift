extension QRCode {
    /// The background of a terminal.
    public enum Background: String, CaseIterable, Sendable {
        /// Light text on dark: draws light modules.
        case dark
        /// Dark text on light: draws dark modules.
        case light
    }

    /// The notation of modules.
    public enum Style: Sendable {
        /// Half blocks of Unicode: a column for each module, a line for two rows of them.
        case halfBlocks
        /// Sextants of Unicode 13, three rows of two modules each. A module is three quarters as wide as high, which
        /// readers correct. Not every font has them.
        case sextants
        /// Octants of Unicode 16, four rows of two modules each.
        case octants
        /// Two ASCII characters for each module.
        case ascii
    }

    /// Lines that fit into a terminal, with the largest possible quiet zone of at least one module. Returns nil if the
    /// terminal is too small.
    public func lines(on background: Background, style: Style, columns: Int, rows: Int) -> [String]? {
        for edge in stride(from: Self.quietZone, through: 1, by: -1) {
            let modules = width + 2 * edge
            let fits =
                switch style {
                case .halfBlocks: modules <= columns && (modules + 1) / 2 <= rows
                case .sextants: (modules + 1) / 2 <= columns && (modules + 2) / 3 <= rows
                case .octants: (modules + 1) / 2 <= columns && (modules + 3) / 4 <= rows
                case .ascii: modules * 2 <= columns && modules <= rows
                }
            guard fits else { continue }
            return switch style {
            case .halfBlocks: lines(on: background, edge: edge)
            case .sextants: sextantLines(on: background, edge)
            case .octants: octantLines(on: background, edge)
            case .ascii: asciiLines(on: background, edge)
            }
        }
        return nil
    }

    /// The smallest terminal in which a style fits.
    public func leastSize(of style: Style) -> (columns: Int, rows: Int) {
        let modules = width + 2
        return switch style {
        case .halfBlocks: (modules, (modules + 1) / 2)
        case .sextants: ((modules + 1) / 2, (modules + 2) / 3)
        case .octants: ((modules + 1) / 2, (modules + 3) / 4)
        case .ascii: (modules * 2, modules)
        }
    }

    private func asciiLines(on background: Background, _ edge: Int) -> [String] {
        (-edge..<width + edge).map { row in
            (-edge..<width + edge).map { isWritten(row, $0, background) ? "##" : "  " }.joined()
        }
    }

    /// A bit for each of the six modules of a character, row by row from the lowest bit on.
    private func sextantLines(on background: Background, _ edge: Int) -> [String] {
        stride(from: -edge, to: width + edge, by: 3).map { row in
            stride(from: -edge, to: width + edge, by: 2).map { column in
                let bits = (0..<6).filter { isWritten(row + $0 / 2, column + $0 % 2, background) }
                return Self.sextant(bits.reduce(0) { $0 | 1 << UInt32($1) })
            }.joined()
        }
    }

    /// U+1FB00 and the following, in the order of the bits, without the four that other blocks have.
    private static func sextant(_ bits: UInt32) -> String {
        switch bits {
        case 0: return " "
        case 0b010101: return "▌"
        case 0b101010: return "▐"
        case 0b111111: return "█"
        default:
            let skipped: UInt32 = bits > 0b101010 ? 3 : bits > 0b010101 ? 2 : 1
            return Unicode.Scalar(0x1FB00 + bits - skipped).map { String($0) } ?? " "
        }
    }

    /// Lines of half blocks, two rows of modules each. Uses no escape sequences, so that it can be copied and works
    /// without colours.
    /// - Parameter edge: The width of the quiet zone in modules.
    public func lines(on background: Background, edge: Int = QRCode.quietZone / 2) -> [String] {
        stride(from: -edge, to: width + edge, by: 2).map { row in
            var line = ""
            for column in -edge..<width + edge {
                let (upper, lower) = (
                    isWritten(row, column, background), isWritten(row + 1, column, background)
                )
                switch (upper, lower) {
                case (true, true): line += "█"
                case (true, false): line += "▀"
                case (false, true): line += "▄"
                case (false, false): line += " "
                }
            }
            return line
        }
    }

    func isWritten(_ row: Int, _ column: Int, _ background: Background) -> Bool {
        switch background {
        case .dark: !self[row, column]
        case .light: self[row, column]
        }
    }
}
