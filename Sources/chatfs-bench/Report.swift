/// The figures as Markdown and as JSON.
struct Report: Sendable {
    let machine: [(name: String, value: String)]
    let isQuick: Bool
    var rows: [Row] = []

    init(machine: [(name: String, value: String)], isQuick: Bool) {
        self.machine = machine
        self.isQuick = isQuick
    }

    var markdown: String {
        var lines = machine.map { "* \($0.name): \($0.value)" }
        if isQuick { lines.append("* A quick look with small files: not for comparison.") }
        lines += ["", "| | chatfs | lowest–highest | plain filesystem | ratio |", "|---|---|---|---|---|"]
        for row in rows {
            let span = "\(Self.number(row.samples.min() ?? 0))–\(Self.number(row.samples.max() ?? 0))"
            let native = row.nativeValue.map { "\(Self.number($0)) \(row.unit)" } ?? "–"
            let ratio = row.ratio.map { Self.number($0) + " ×" } ?? "–"
            lines.append(
                "| \(row.title) | \(Self.number(row.value)) \(row.unit) | \(span) | \(native) | \(ratio) |")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    var json: String {
        let facts = machine.map { "\(Self.quoted($0.name)): \(Self.quoted($0.value))" }
        let figures = rows.map { row in
            let native = "[" + row.native.map { "\($0)" }.joined(separator: ", ") + "]"
            let samples = "[" + row.samples.map { "\($0)" }.joined(separator: ", ") + "]"
            return """
                    {"measure": \(Self.quoted(row.measure)), "title": \(Self.quoted(row.title)), \
                "unit": \(Self.quoted(row.unit)), "median": \(row.value), "samples": \(samples), \
                "native": \(native), "ratio": \(row.ratio.map { "\($0)" } ?? "null")}
                """
        }
        return """
            {
              "quick": \(isQuick),
              "machine": {\(facts.joined(separator: ", "))},
              "figures": [
            \(figures.joined(separator: ",\n"))
              ]
            }

            """
    }

    /// Three digits that matter: 0.0123, 1.23, 12.3, 1234.
    static func number(_ value: Double) -> String {
        guard value != 0, value.isFinite else { return "0" }
        var decimals = 2
        var magnitude = abs(value)
        while magnitude < 1, decimals < 6 {
            magnitude *= 10
            decimals += 1
        }
        while magnitude >= 10, decimals > 0 {
            magnitude /= 10
            decimals -= 1
        }
        var scale = 1.0
        for _ in 0..<decimals { scale *= 10 }
        let scaled = Int((value * scale).rounded())
        guard decimals > 0 else { return "\(scaled)" }
        let digits = String(abs(scaled))
        let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
        return (scaled < 0 ? "-" : "") + padded.dropLast(decimals) + "." + padded.suffix(decimals)
    }

    private static func quoted(_ text: String) -> String {
        let safe = text.unicodeScalars.map { scalar -> String in
            switch scalar {
            case "\"": "\\\""
            case "\\": "\\\\"
            case _ where scalar.value < 0x20: " "
            default: String(scalar)
            }
        }
        return "\"" + safe.joined() + "\""
    }
}
