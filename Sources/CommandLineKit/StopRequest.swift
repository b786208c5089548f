import Base

/// A request to stop for commands that run until stopped. Thread-safe; any number of tasks may wait.
public final class StopRequest: Sendable {
    private struct State {
        var signal: Int32?
        var waiting: [CheckedContinuation<Int32, Never>] = []
    }

    private let state = Lock(State())

    public init() {}

    public var isRequested: Bool { state.withLock { $0.signal != nil } }

    /// Requests the stop. Only the first call counts.
    /// - Parameter signal: Signal number; 0 for a request without a signal.
    public func request(signal: Int32 = 0) {
        let waiting = state.withLock { state -> [CheckedContinuation<Int32, Never>] in
            guard state.signal == nil else { return [] }
            state.signal = signal
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: signal) }
    }

    /// Waits for the request and returns its signal. Cancelling the task does not end the wait.
    @discardableResult
    public func wait() async -> Int32 {
        await withCheckedContinuation { continuation in
            let signal = state.withLock { state -> Int32? in
                if state.signal == nil { state.waiting.append(continuation) }
                return state.signal
            }
            if let signal { continuation.resume(returning: signal) }
        }
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
