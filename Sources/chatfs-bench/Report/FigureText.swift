/// Figures for readers.
enum FigureText {
    /// Three significant digits: 0.0123, 1.23, 12.3, 1234.
    static func number(_ value: Double) -> String {
        guard value != 0, value.isFinite else { return "0" }
        var (decimals, least) = (2, 1.0)
        while abs(value) < least, decimals < 6 {
            least /= 10
            decimals += 1
        }
        // A value that is rounded up to one digit more has one decimal less: 9.996 is 10.0.
        while decimals > 0, digits(value, decimals: decimals) >= 1000 { decimals -= 1 }
        return fixed(value, decimals: decimals)
    }

    /// The value without its decimal point.
    private static func digits(_ value: Double, decimals: Int) -> Double {
        var scale = 1.0
        for _ in 0..<decimals { scale *= 10 }
        return (abs(value) * scale).rounded()
    }

    /// A bound as in a target, without trailing zeros.
    static func bound(_ value: Double) -> String {
        var text = fixed(value, decimals: 2)
        while text.hasSuffix("0") { text.removeLast() }
        if text.hasSuffix(".") { text.removeLast() }
        return text
    }

    static func fixed(_ value: Double, decimals: Int) -> String {
        var scale = 1.0
        for _ in 0..<decimals { scale *= 10 }
        let scaled = Int((value * scale).rounded())
        guard decimals > 0 else { return "\(scaled)" }
        let digits = String(abs(scaled))
        let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
        return (scaled < 0 ? "-" : "") + padded.dropLast(decimals) + "." + padded.suffix(decimals)
    }
}
