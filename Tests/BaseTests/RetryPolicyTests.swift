import Base
import Testing

@Suite struct RetryPolicyTests {
    let policy = RetryPolicy(first: .seconds(1), maxDelay: .seconds(8), tries: 6)

    @Test func delaysDoubleUpToTheCeilingAndThenEnd() {
        let delays = (2...7).map { policy.delay(beforeTry: $0, jitter: 0) }
        #expect(delays == [.seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(8), nil])
    }

    @Test func jitterOnlyShortens() {
        for _ in 0..<100 {
            let delay = policy.delay(beforeTry: 4)!
            #expect(delay <= .seconds(4) && delay >= .seconds(3))
        }
    }

    @Test func endlessTriesDoNotOverflow() {
        let endless = RetryPolicy(first: .seconds(1), maxDelay: .seconds(60), tries: .max)
        #expect(endless.delay(beforeTry: 1_000_000, jitter: 0) == .seconds(60))
    }

    @Test func timesBeforeTheEpochRoundDownToTheSecond() {
        #expect(Timestamp(nanoseconds: -1).seconds == -1)
        #expect(Timestamp(seconds: 5).advanced(by: .milliseconds(-5001)).seconds == -1)
        #expect(Timestamp(nanoseconds: 1_999_999_999).seconds == 1)
    }
}
