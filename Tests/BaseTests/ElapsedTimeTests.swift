import Base
import Testing

@Suite("Certainly elapsed time")
struct ElapsedTimeTests {
    private static func reading(_ boot: String, _ seconds: Int64) -> BootReading {
        BootReading(boot: boot, nanoseconds: seconds * 1_000_000_000)
    }

    @Test("it counts within a boot, not between boots")
    func boots() {
        var count = ElapsedTimeCount(reading: Self.reading("a", 100), time: ElapsedTime(seconds: 5))
        #expect(count.advance(to: Self.reading("a", 110)) == ElapsedTime(seconds: 15))
        // Independent of the new boot's uptime, because the time of the last reading is unknown.
        #expect(count.advance(to: Self.reading("b", 1_000_000)) == ElapsedTime(seconds: 15))
        #expect(count.advance(to: Self.reading("b", 1_000_001)) == ElapsedTime(seconds: 16))
    }

    @Test("a clock that goes back counts nothing")
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

    @Test("arithmetic is exact and saturates")
    func arithmetic() {
        let time = ElapsedTime(seconds: 2)
        #expect(time.advanced(by: .nanoseconds(-1)) < time && time.seconds == 2)
        #expect(ElapsedTime(seconds: .max).nanoseconds == .max && ElapsedTime(seconds: .min) < time)
    }
}
