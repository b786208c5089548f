import Base
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite struct ChangeSignalTests {
    @Test func failedCallIsRetriedWithoutAnotherSignal() async throws {
        let folder = try TemporaryFolder()
        let calls = Lock(0)
        let listener = try ChangeSignalListener(
            ChangeSignal(path: folder.path("bell")),
            retry: RetryPolicy(first: .milliseconds(10), maxDelay: .milliseconds(20), tries: .max),
            signalled: {
                calls.withLock { calls in
                    calls += 1
                    return calls > 3
                }
            }, quiet: {})
        try await wait(until: "it was tried until it was done") { calls.withLock { $0 } == 4 }
        // No further call after success.
        try await Task.sleep(for: .milliseconds(200))
        #expect(calls.withLock { $0 } == 4)
        await listener.stop()
    }

    @Test func signalEndsRetryDelay() async throws {
        let folder = try TemporaryFolder()
        let signal = try ChangeSignal(path: folder.path("bell"))
        let calls = Lock(0)
        let listener = try ChangeSignalListener(
            signal, retry: RetryPolicy(first: .seconds(600), maxDelay: .seconds(600), tries: .max),
            signalled: {
                calls.withLock { $0 += 1 }
                return false
            }, quiet: {})
        try await wait(until: "it was tried once") { calls.withLock { $0 } == 1 }
        signal.notify()
        try await wait(until: "the signal was heard") { calls.withLock { $0 } == 2 }
        await listener.stop()
    }
}
