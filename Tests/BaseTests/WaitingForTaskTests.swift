import Base
import Testing

@Suite(.timeLimit(.minutes(10))) struct WaitingForTaskTests {
    private struct Failure: Error {}

    /// Ends when it is cancelled.
    private static func endless() -> Task<Int, any Error> {
        Task {
            try await Task.sleep(for: .seconds(3600))
            return 1
        }
    }

    @Test func allWaitersGetTheResult() async throws {
        let task = Task { 7 }
        for _ in 0..<3 { #expect(await task.result(within: .seconds(60))?.get() == 7) }
        let failing = Task<Int, any Error> { throw Failure() }
        await #expect(throws: Failure.self) { try await failing.result(within: .seconds(60))?.get() }
    }

    @Test func aTimeoutLeavesTheTaskRunning() async throws {
        let task = Self.endless()
        #expect(await task.result(within: .milliseconds(10)) == nil)
        #expect(!task.isCancelled)
        task.cancel()
    }

    @Test func cancellationEndsTheWait() async throws {
        let task = Self.endless()
        for round in 0..<50 {
            let waiting = Task { await task.result(within: .seconds(3600)) == nil }
            // Before and during the wait.
            for _ in 0..<round { await Task.yield() }
            waiting.cancel()
            #expect(await waiting.value)
        }
        #expect(!task.isCancelled)
        task.cancel()
    }
}
