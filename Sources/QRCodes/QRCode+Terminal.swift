extension QRCode {
    /// The background of a terminal.
    public enum Background: String, CaseIterable, Sendable {
        /// Light text on dark: draws light modules.
        case dark
        /// Dark text on light: draws dark modules.
        case light
    }

    /// How modules are written.
    public enum Style: Sendable {
        /// Half blocks of Unicode: a column for each module, a line for two rows of them.
        case halfBlocks
        /// Two characters of ASCII for each module.
        case ascii
    }

    /// Lines that fit into a terminal with as much of the quiet zone as there is room for, a module at least; nil: it is
    /// too small.
    public func lines(on background: Background, style: Style, columns: Int, rows: Int) -> [String]? {
        for edge in stride(from: Self.quietZone, through: 1, by: -1) {
            let modules = width + 2 * edge
            let fits =
                switch style {
                case .halfBlocks: modules <= columns && (modules + 1) / 2 <= rows
                case .ascii: modules * 2 <= columns && modules <= rows
                }
            if fits {
                return style == .ascii ? asciiLines(on: background, edge) : lines(on: background, edge: edge)
            }
        }
        return nil
    }

    private func asciiLines(on background: Background, _ edge: Int) -> [String] {
        (-edge..<width + edge).map { row in
            (-edge..<width + edge).map { isWritten(row, $0, background) ? "##" : "  " }.joined()
        }
    }

    /// Lines of half blocks, two rows of modules each. No escape sequences, so that it can be copied and looks right
    /// without colours.
    /// - Parameter edge: modules of quiet zone.
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

    private func isWritten(_ row: Int, _ column: Int, _ background: Background) -> Bool {
        switch background {
        case .dark: !self[row, column]
        case .light: self[row, column]
        }
    }
}
