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

    @Test func attemptsEndWithSuccessOrLastTry() async {
        let quick = RetryPolicy(first: .nanoseconds(1), maxDelay: .nanoseconds(1), tries: 3)
        var attempts = 0
        await quick.repeatWhile {
            attempts += 1
            return attempts < 2
        }
        #expect(attempts == 2)
        await quick.repeatWhile {
            attempts += 1
            return true
        }
        #expect(attempts == 5)
    }

    @Test func cancellationEndsDelay() async {
        let slow = RetryPolicy(first: .seconds(3600), maxDelay: .seconds(3600), tries: .max)
        let (attempts, begun) = (Lock(0), AsyncSemaphore(0))
        let task = Task {
            await slow.repeatWhile {
                attempts.withLock { $0 += 1 }
                begun.release()
                return true
            }
        }
        _ = await begun.acquire()
        task.cancel()
        await task.value
        #expect(attempts.withLock { $0 } == 1)
    }

    @Test func timesBeforeTheEpochRoundDownToTheSecond() {
        #expect(Timestamp(nanoseconds: -1).seconds == -1)
        #expect(Timestamp(seconds: 5).advanced(by: .milliseconds(-5001)).seconds == -1)
        #expect(Timestamp(nanoseconds: 1_999_999_999).seconds == 1)
    }
}
