/// Cuts lines to the size of a terminal, so that it never scrolls. A pure value.
struct Screen: Equatable {
    /// Columns.
    var width: Int
    /// Rows.
    var height: Int

    /// Returns the blocks of lines, shortened to fit. A shortened block keeps its first lines, and its last
    /// line counts the omitted ones.
    func fit(_ blocks: [[String]]) -> [String] {
        let rows = max(1, height - 1)
        var counts = blocks.map(\.count)
        // The longest block is shortened first.
        while counts.reduce(0, +) > rows, let longest = counts.indices.max(by: { counts[$0] < counts[$1] }),
            counts[longest] > 1
        {
            let others = counts.reduce(0, +) - counts[longest]
            let second = counts.indices.filter { $0 != longest }.map { counts[$0] }.max() ?? 1
            counts[longest] = max(1, min(counts[longest] - 1, max(second, rows - others)))
        }
        let lines = zip(blocks, counts).flatMap { block, count -> [String] in
            guard block.count > count, count > 1 else { return Array(block.prefix(count)) }
            return Array(block.prefix(count - 1)) + ["  … and \(block.count - count + 1) more"]
        }
        return lines.prefix(rows).map { cut($0) }
    }

    /// Returns the output that shows the lines in place of the screen's content.
    ///
    /// The terminal does not wrap meanwhile: characters such as 文 and tabs occupy more than one column.
    static func frame(_ lines: [String]) -> String {
        // Overwrites from the top and clears the rest, because clearing the screen first would flicker.
        let rows = lines.map { $0 + "\u{1B}[K" }.joined(separator: "\n")
        return "\u{1B}[?7l\u{1B}[H" + rows + "\u{1B}[J\u{1B}[?7h"
    }

    private func cut(_ line: String) -> String {
        line.count < width ? line : String(line.prefix(max(1, width - 2))) + "…"
    }
}
