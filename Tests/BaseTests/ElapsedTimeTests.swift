import Base
import Testing

@Suite("Time that has certainly passed")
struct ElapsedTimeTests {
    private static func reading(_ boot: String, _ seconds: Int64) -> BootReading {
        BootReading(boot: boot, nanoseconds: seconds * 1_000_000_000)
    }

    @Test("it passes with the machine's clock, and not between two starts of the machine")
    func boots() {
        var count = ElapsedTimeCount(reading: Self.reading("a", 100), time: ElapsedTime(seconds: 5))
        #expect(count.advance(to: Self.reading("a", 110)) == ElapsedTime(seconds: 15))
        // However long the new boot has run: when it was looked at last is not known.
        #expect(count.advance(to: Self.reading("b", 1_000_000)) == ElapsedTime(seconds: 15))
        #expect(count.advance(to: Self.reading("b", 1_000_001)) == ElapsedTime(seconds: 16))
    }

    @Test("a clock that goes back counts nothing twice")
    func backwards() {
        var count = ElapsedTimeCount(reading: Self.reading("a", 100), time: ElapsedTime(seconds: 0))
        for seconds: Int64 in [50, 99, 100] {
            #expect(count.advance(to: Self.reading("a", seconds)) == ElapsedTime(seconds: 0))
        }
        #expect(count.advance(to: Self.reading("a", 101)) == ElapsedTime(seconds: 1))
        #expect(
            count.advance(to: BootReading(boot: "a", nanoseconds: .min)) == ElapsedTime(seconds: 1),
            "nothing overflows")
    }

    @Test("times are moved and compared to the nanosecond, and end at the ends")
    func arithmetic() {
        let time = ElapsedTime(seconds: 2)
        #expect(time.advanced(by: .nanoseconds(-1)) < time && time.seconds == 2)
        #expect(ElapsedTime(seconds: .max).nanoseconds == .max && ElapsedTime(seconds: .min) < time)
    }
}
