import Base

/// Tells a command that lives until it is stopped that it is time to leave. Any thread may ask, any
/// number of tasks may wait.
public final class StopRequest: Sendable {
    private struct State {
        var signal: Int32?
        var waiting: [CheckedContinuation<Int32, Never>] = []
    }

    private let state = Lock(State())

    public init() {}

    public var isRequested: Bool { state.withLock { $0.signal != nil } }

    /// Asks to leave. `signal` is the number that asked, 0 for a request without a signal. Only the
    /// first counts.
    public func request(signal: Int32 = 0) {
        let waiting = state.withLock { state -> [CheckedContinuation<Int32, Never>] in
            guard state.signal == nil else { return [] }
            state.signal = signal
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: signal) }
    }

    /// Waits until somebody asks and answers the signal. Ends only then; a cancelled task waits on.
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
    /// Runs `work` until it ends or somebody asks to leave. Then it is cancelled and has `grace` to end; what goes
    /// on after that is left behind, for it may hang in a call that nothing interrupts.
    ///
    /// - Returns: nil when it did not get done because of the request.
    /// - Throws: what `work` throws, unless somebody has asked to leave by then.
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
