import Base
import Glibc
import Testing

/// Compares text forms of times with the C library's calendar, and at the limits of a timestamp.
@Suite("times of the calendar")
struct TimestampCalendarTests {
    private static func text(_ seconds: Int) -> String {
        var time = time_t(seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        var buffer = [CChar](repeating: 0, count: 64)
        let count = strftime(&buffer, buffer.count, "%Y-%m-%dT%H:%M:%SZ", &parts)
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    @Test("four hundred years match the C library")
    func everyDay() {
        // From 1678 on, in steps of a day and some seconds.
        var wrong = 0
        for day in 0..<146_097 {
            let seconds = -9_214_560_000 + day * 86_400 + day % 86_400
            let text = Self.text(seconds)
            if Timestamp(iso8601: text) != Timestamp(seconds: Int64(seconds)) { wrong += 1 }
            if day % 7 == 0, Timestamp(seconds: Int64(seconds)).iso8601 != text { wrong += 1 }
        }
        #expect(wrong == 0)
    }

    @Test(
        "the first and last years are the limits",
        arguments: [
            ("1677-12-31T23:59:59Z", false), ("1678-01-01T00:00:00Z", true), ("2261-12-31T23:59:60Z", true),
            ("2262-01-01T00:00:00Z", false),
        ])
    func ends(text: String, exists: Bool) { #expect((Timestamp(iso8601: text) != nil) == exists) }

    @Test(
        "each field has its limits",
        arguments: [
            ("2026-00-20T00:00:00Z", false), ("2026-01-20T00:00:00Z", true), ("2026-12-20T00:00:00Z", true),
            ("2026-13-20T00:00:00Z", false), ("2026-11-00T00:00:00Z", false), ("2026-10-31T00:00:00Z", true),
            ("2026-10-32T00:00:00Z", false), ("2026-11-20T23:00:00Z", true), ("2026-11-20T24:00:00Z", false),
            ("2026-11-20T00:59:00Z", true), ("2026-11-20T00:60:00Z", false), ("2026-11-20T00:00:60Z", true),
            ("2026-11-20T00:00:61Z", false),
        ])
    func limits(text: String, exists: Bool) { #expect((Timestamp(iso8601: text) != nil) == exists) }

    @Test("truncated and changed times are refused")
    func cut() {
        let text = Array("2026-11-20T08:29".utf8)
        for length in 0..<text.count {
            #expect(Timestamp(iso8601: String(decoding: text.prefix(length), as: UTF8.self)) == nil)
        }
        #expect(Timestamp(iso8601: "2026-11-20T08:29")?.seconds == 1_795_163_340)
        for place in text.indices {
            var other = text
            other[place] = UInt8(ascii: "x")
            #expect(Timestamp(iso8601: String(decoding: other, as: UTF8.self)) == nil)
        }
    }

    @Test(
        "zones west and east, with and without a colon",
        arguments: [
            ("2026-11-20T09:29:55+01:00", true), ("2026-11-20T09:29:55+0100", true),
            ("2026-11-20T06:59:55-01:30", true), ("2026-11-20T08:29:55z", true),
            ("2026-11-20T08:29:55-00:00", true), ("2026-11-20T09:29:55+01", false),
            ("2026-11-20T09:29:55+01:0", false), ("2026-11-20T09:29:55+01:00Z", false),
            ("2026-11-20T08:29:55 Z", false), ("2026-11-20T08:29:55ZZ", false),
        ])
    func zones(text: String, exists: Bool) {
        #expect(Timestamp(iso8601: text)?.nanoseconds == (exists ? 1_795_163_395_000_000_000 : nil))
    }

    @Test("arithmetic saturates")
    func saturates() {
        let (first, last) = (Timestamp(nanoseconds: .min), Timestamp(nanoseconds: .max))
        #expect(last.advanced(by: .nanoseconds(1)) == last)
        #expect(first.advanced(by: .nanoseconds(-1)) == first)
        #expect(last.advanced(by: .nanoseconds(-1)).nanoseconds == .max - 1)
        #expect(Timestamp(seconds: 0).advanced(by: .seconds(Int64.max)) == last)
        #expect(Timestamp(seconds: 0).advanced(by: .seconds(Int64.min)) == first)
        #expect(Timestamp(nanoseconds: 5).advanced(by: .nanoseconds(-7)).nanoseconds == -2)
        #expect(Timestamp(seconds: 9_223_372_036) < last && Timestamp(seconds: 9_223_372_037) == last)
    }

    @Test("written times survive a round trip")
    func ownText() {
        for nanoseconds in [Int64.min, .min / 2, -1, 0, 999, 1_000_000, .max / 2, .max] {
            let time = Timestamp(nanoseconds: nanoseconds)
            let again = Timestamp(iso8601: time.iso8601)
            #expect(again == nil || again == time, "\(time.iso8601)")
        }
    }
}
