import Base
import Testing

@Suite struct TimestampTests {
    @Test(arguments: [Int64.min, -11_676_096_001, -1, 0, 1, 9_223_372_037, Int64.max])
    func anyTimeThatAProgramGivesAFileIsATime(seconds: Int64) {
        let time = Timestamp(seconds: seconds)
        #expect((seconds < 0) == (time.seconds < 0))
        if abs(Double(seconds)) < 9e9 { #expect(time.seconds == seconds) }
        #expect(time.advanced(by: .seconds(172_800)) >= time)
        #expect(time.advanced(by: .seconds(-172_800)) <= time)
    }

    @Test func secondsAreRoundedDown() {
        #expect(Timestamp(nanoseconds: -1).seconds == -1)
        #expect(Timestamp(nanoseconds: -1_000_000_000).seconds == -1)
        #expect(Timestamp(nanoseconds: 1_999_999_999).seconds == 1)
        #expect(Timestamp(nanoseconds: .min).seconds == -9_223_372_037)
    }

    @Test func usersSeeTheMinute() {
        #expect(Timestamp(seconds: 0).text == "1970-01-01 00:00 +00:00")
        #expect(Timestamp(seconds: 1_795_270_719).text == "2026-11-21 14:18 +00:00")
        #expect(Timestamp(seconds: -1).text == "1969-12-31 23:59 +00:00")
    }
}
