import Base

/// A request to stop for commands that run until stopped. Thread-safe; any number of tasks may wait.
public final class StopRequest: Sendable {
    private let signal = Lock<Int32?>(nil)
    private let requested = OneTimeEvent()

    public init() {}

    public var isRequested: Bool { signal.withLock { $0 != nil } }

    /// Requests the stop. Only the first call counts.
    /// - Parameter signal: Signal number; 0 for a request without a signal.
    public func request(signal: Int32 = 0) {
        self.signal.withLock { if $0 == nil { $0 = signal } }
        requested.happen()
    }

    /// Waits for the request and returns its signal. Cancelling the task does not end the wait.
    @discardableResult
    public func wait() async -> Int32 {
        await requested.wait()
        return signal.withLock { $0 ?? 0 }
    }
}

extension StopRequest {
    /// Runs `work` until it ends or a stop is requested. Then cancels it and waits at most `grace`; later work is
    /// abandoned, because it may hang in an uninterruptible call.
    /// - Returns: nil if the stop prevented a result.
    /// - Throws: The error of `work`, unless a stop was requested.
    public func interrupting<Result: Sendable>(
        grace: Duration = .milliseconds(300), _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Result? {
        let (outcomes, continuation) = AsyncStream.makeStream(of: Swift.Result<Result, any Error>?.self)
        let task = Task {
            do {
                continuation.yield(.success(try await work()))
            } catch {
                continuation.yield(.failure(error))
            }
        }
        Task {
            await wait()
            task.cancel()
            try? await Task.sleep(for: grace)
            continuation.yield(nil)
        }
        for await outcome in outcomes {
            guard let outcome else { return nil }
            if case .failure = outcome, isRequested { return nil }
            return try outcome.get()
        }
        return nil
    }
}
