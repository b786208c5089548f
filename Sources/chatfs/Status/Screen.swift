/// Cuts lines to a terminal, so that it never scrolls. A value without input and output.
struct Screen: Equatable {
    /// Columns and rows.
    var width: Int
    var height: Int

    /// Blocks of lines in as many lines as fit, a block after the other. Of a block that is too long the beginning stays,
    /// and its last line counts the others.
    func fit(_ blocks: [[String]]) -> [String] {
        let rows = max(1, height - 1)
        var counts = blocks.map(\.count)
        // The longest gives first.
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

    private func cut(_ line: String) -> String {
        line.count < width ? line : String(line.prefix(max(1, width - 2))) + "…"
    }
}
