extension QRCode {
    /// On what a terminal writes: which of its colours light modules are to have.
    public enum Background: String, CaseIterable, Sendable {
        /// Light letters on dark: light modules are written, dark ones left out.
        case dark
        /// Dark letters on light.
        case light
    }

    /// Lines of half blocks, two rows of modules each, with the quiet zone. No escape sequences, so that it can be
    /// copied and looks right without colours.
    public func lines(on background: Background) -> [String] {
        let edge = Self.quietZone / 2
        return stride(from: -edge, to: width + edge, by: 2).map { row in
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
