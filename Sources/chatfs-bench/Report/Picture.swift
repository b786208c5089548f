import Glibc

/// The figures with a target as bars of their progress. A self-contained SVG that follows the reader's light or dark
/// theme.
enum Picture {
    private static let rowHeight = 30.0
    private static let top = 64.0
    private static let labels = 560.0
    private static let bars = 300.0
    private static let width = 1060.0
    /// The scale is logarithmic, from a tenth of the target to ten times.
    private static let decades = 1.0

    static func svg(of report: Report) -> String {
        let rows = report.rows.filter { $0.reach != nil }
        let height = top + Double(rows.count) * rowHeight + 40
        let bottom = top + Double(rows.count) * rowHeight
        var lines = [
            #"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \#(text(width)) \#(text(height))" "#
                + #"role="img" aria-label="Figures of chatfs-bench against their targets">"#,
            style,
            // Also for viewers without a theme.
            #"<rect class="ground" width="100%" height="100%" rx="8"/>"#,
            #"<text class="title" x="16" y="28">chatfs against its targets</text>"#,
            #"<text class="small" x="16" y="48">\#(escaped(report.date)); a bar beyond the dashed line meets its "#
                + "target; the scale is logarithmic</text>",
        ]
        for (power, label) in [(-1.0, "0.1 ×"), (0, "target"), (1, "10 ×")] {
            let x = labels + bars * (power + decades) / (2 * decades)
            lines.append(
                #"<line class="\#(power == 0 ? "target" : "grid")" x1="\#(text(x))" x2="\#(text(x))" "#
                    + #"y1="\#(text(top - 4))" y2="\#(text(bottom))"/>"#)
            lines.append(
                #"<text class="small middle" x="\#(text(x))" y="\#(text(bottom + 20))">\#(label)</text>"#)
        }
        for (index, row) in rows.enumerated() { lines += bar(row, top + Double(index) * rowHeight) }
        return (lines + ["</svg>"]).joined(separator: "\n") + "\n"
    }

    private static func bar(_ row: Row, _ y: Double) -> [String] {
        let length = share(row.reach ?? 0) * bars
        let figure = "\(FigureText.number(row.value)) \(row.unit.rawValue)"
        let target = row.target.map { $0.text(row.unit) } ?? ""
        let ratio = row.target.map(speaksOfRatio) == true ? row.ratio : nil
        let label = row.title + (ratio == nil ? "" : ", beside " + (row.reference?.name ?? ""))
        let value = ratio.map { FigureText.number($0) + " ×" } ?? figure
        return [
            #"<text class="label" x="\#(text(labels - 12))" y="\#(text(y + 19))">\#(escaped(label))</text>"#,
            #"<rect class="\#(row.isMet == true ? "met" : "missed")" x="\#(text(labels))" y="\#(text(y + 5))" "#
                + #"width="\#(text(length))" height="\#(text(rowHeight - 10))" rx="3"/>"#,
            #"<text x="\#(text(labels + bars + 14))" y="\#(text(y + 19))">\#(escaped(value))"#
                + #"<tspan class="small" dx="6">\#(escaped(target))</tspan></text>"#,
        ]
    }

    private static func speaksOfRatio(_ target: Target) -> Bool {
        switch target {
        case .atLeast, .atMost: false
        case .ratioAtLeast, .ratioAtMost, .asReference: true
        }
    }

    /// Returns the position on the scale from 0 to 1; at least a thin bar is visible.
    static func share(_ reach: Double) -> Double {
        guard reach > 0 else { return 0.01 }
        return min(1, max(0.01, (log10(reach) + decades) / (2 * decades)))
    }

    private static let style = """
        <style>
        text { font: 13px system-ui, sans-serif; fill: #1f2328 }
        .ground { fill: #ffffff }
        .title { font-size: 17px; font-weight: 600 }
        .small { font-size: 11.5px; fill: #59636e }
        .label { text-anchor: end }
        .middle { text-anchor: middle }
        .grid { stroke: #d1d9e0; stroke-width: 1 }
        .target { stroke: #59636e; stroke-width: 1.5; stroke-dasharray: 4 3 }
        .met { fill: #2da44e }
        .missed { fill: #d4801f }
        @media (prefers-color-scheme: dark) {
        .ground { fill: #0d1117 }
        text { fill: #e6edf3 }
        .small { fill: #9198a1 }
        .grid { stroke: #3d444d }
        .target { stroke: #9198a1 }
        .met { fill: #3fb950 }
        .missed { fill: #e09b3d }
        }
        </style>
        """

    private static func text(_ value: Double) -> String { FigureText.fixed(value, decimals: 1) }

    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }
}
