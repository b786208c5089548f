import Base
import Testing

@Suite("times in text")
struct TimestampTextTests {
    @Test(
        "times with any number of digits",
        arguments: [
            ("1970-01-01T00:00:00Z", Int64(0)), ("2026-11-20T08:29:55.179571558Z", 1_795_163_395_179_571_558),
            ("2026-11-20T08:29:55.1Z", 1_795_163_395_100_000_000),
            ("2026-11-20T08:29:55Z", 1_795_163_395_000_000_000),
            ("2026-11-20 08:29:55.179571558999", 1_795_163_395_179_571_558),
            ("2026-11-20T09:29:55+01:00", 1_795_163_395_000_000_000),
            ("2024-02-29T12:00:00Z", 1_709_208_000_000_000_000),
            ("1969-12-31T23:59:59Z", -1_000_000_000), ("2000-03-01T00:00:00Z", 951_868_800_000_000_000),
        ])
    func times(_ text: String, _ nanoseconds: Int64) {
        #expect(Timestamp(iso8601: text)?.nanoseconds == nanoseconds)
    }

    @Test(
        "malformed times are refused",
        arguments: [
            "", "2026", "2026-13-01T00:00:00Z", "2026-11-20T08:29:55Zx", "2026-11-20T08:29:55.Z",
            "9999-01-01T00:00:00Z",
            "0001-01-01T00:00:00Z", "2026-11-20T24:00:00Z", "now",
        ])
    func noTimes(_ text: String) { #expect(Timestamp(iso8601: text) == nil) }

    @Test(
        "written times survive a round trip",
        arguments: [
            (Int64(0), "1970-01-01T00:00:00Z"), (1_795_163_395_100_000_000, "2026-11-20T08:29:55.1Z"),
            (-1, "1969-12-31T23:59:59.999999999Z"),
            (1_709_208_000_000_000_001, "2024-02-29T12:00:00.000000001Z"),
        ])
    func written(_ nanoseconds: Int64, _ text: String) {
        let time = Timestamp(nanoseconds: nanoseconds)
        #expect(time.iso8601 == text)
        #expect(Timestamp(iso8601: text) == time)
    }
}
