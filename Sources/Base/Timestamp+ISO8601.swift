import Glibc

extension Timestamp {
    /// Reads a time of ISO 8601 in SimpleX's form, in messages, its API and its databases:
    /// `2026-11-20T08:29:55.179571558Z`, with any number of fraction digits or none, `T` or a space, `Z` or nothing
    /// (both UTC), or `+hh:mm`.
    public init?(iso8601 text: String) {
        var digits = TimeText(bytes: Array(text.utf8))
        guard let year = digits.number(4), digits.take("-"), let month = digits.number(2),
            digits.take("-"), let day = digits.number(2), digits.take("T") || digits.take(" "),
            let hour = digits.number(2), digits.take(":"), let minute = digits.number(2),
            (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60,
            // Nanoseconds of other years do not fit.
            (1678...2261).contains(year)
        else { return nil }
        var second: Int64 = 0
        if digits.take(":") {
            guard let number = digits.number(2), number <= 60 else { return nil }
            second = number
        }
        let nanoseconds = digits.take(".") ? digits.fraction() : 0
        guard let nanoseconds, let offset = digits.offset() else { return nil }
        let days = Self.days(year: year, month: month, day: day)
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset
        self.init(nanoseconds: seconds * 1_000_000_000 + nanoseconds)
    }

    /// The same form in UTC, with a fraction only if there is one.
    public var iso8601: String {
        var time = time_t(seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        func padded(_ number: Int, to width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        func two(_ number: Int32) -> String { padded(Int(number), to: 2) }
        // The first second begins before the first nanosecond, so the product wraps, and back again.
        let rest = padded(Int(nanoseconds &- seconds &* 1_000_000_000), to: 9)
        let fraction = rest.dropLast(rest.reversed().prefix { $0 == "0" }.count)
        return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
            + "T\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
            + (fraction.isEmpty ? "" : "." + fraction) + "Z"
    }

    /// Returns days from 1970-01-01 in the Gregorian calendar, with years that begin in March.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

private struct TimeText {
    let bytes: [UInt8]
    var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, UInt32(bytes[position]) == character.value else { return false }
        position += 1
        return true
    }

    private mutating func digit() -> Int64? {
        guard position < bytes.count, (0x30...0x39).contains(bytes[position]) else { return nil }
        defer { position += 1 }
        return Int64(bytes[position] - 0x30)
    }

    mutating func number(_ count: Int) -> Int64? {
        var number: Int64 = 0
        for _ in 0..<count {
            guard let digit = digit() else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    /// Reads nanoseconds; ignores digits after the ninth.
    mutating func fraction() -> Int64? {
        guard var fraction = digit() else { return nil }
        var count = 1
        while let digit = digit() {
            if count < 9 { fraction = fraction * 10 + digit }
            count += 1
        }
        for _ in min(count, 9)..<9 { fraction *= 10 }
        return fraction
    }

    /// Reads seconds east of Greenwich. Returns nil if anything else follows.
    mutating func offset() -> Int64? {
        if position == bytes.count { return 0 }
        if take("Z") || take("z") { return position == bytes.count ? 0 : nil }
        let sign: Int64 = take("-") ? -1 : take("+") ? 1 : 0
        guard sign != 0, let hours = number(2) else { return nil }
        _ = take(":")
        guard let minutes = number(2), position == bytes.count else { return nil }
        return sign * (hours * 3600 + minutes * 60)
    }
}
