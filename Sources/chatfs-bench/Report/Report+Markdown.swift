extension Report {
    var markdown: String {
        var lines = ["* Date: \(date)"] + machine.map { "* \($0.name): \($0.value)" }
        if isQuick { lines.append("* A quick look with small files: not for comparison.") }
        lines += [
            "", "| | value | lowest–highest | beside | ratio | target | |", "|---|---|---|---|---|---|---|",
        ]
        lines += rows.map(Self.line)
        if !gaps.isEmpty {
            lines += ["", "Not measured:", ""] + gaps.map { "* \($0.measure): \($0.reason)" }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func line(_ row: Row) -> String {
        let low = FigureText.number(row.samples.min() ?? 0)
        let high = FigureText.number(row.samples.max() ?? 0)
        let value = "\(FigureText.number(row.value)) \(row.unit.rawValue)"
        let span = low == high ? "" : "\(low)–\(high)"
        let beside = row.reference.map { "\($0.name): \(FigureText.number($0.value))" } ?? ""
        let ratio = row.ratio.map { "\(FigureText.number($0)) ×" } ?? ""
        let target = row.target?.text(row.unit) ?? ""
        let verdict = row.isMet.map { $0 ? "met" : "**missed**" } ?? ""
        let cells: [String] = [row.title, value, span, beside, ratio, target, verdict]
        return "| " + cells.joined(separator: " | ") + " |"
    }
}
