/// A mutex for each key that tasks await without blocking a thread, in order of arrival. Different keys are
/// independent. Unused keys take no memory.
///
/// Cancellation does not end the wait: the body still runs in the calling task and checks for itself.
public final class AsyncKeyedMutex<Key: Hashable & Sendable>: Sendable {
    /// The waiting tasks of each key in use.
    private let waiting = Lock<[Key: [CheckedContinuation<Void, Never>]]>([:])

    public init() {}

    /// Runs `body` with exclusive use of `key`.
    /// - Throws: The error of `body`.
    public func withLock<Result, Failure: Error>(
        _ key: Key, _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        await withCheckedContinuation { continuation in
            let isFree = waiting.withLock { waiting in
                if waiting[key]?.append(continuation) != nil { return false }
                waiting[key] = []
                return true
            }
            if isFree { continuation.resume() }
        }
        defer { unlock(key) }
        return try await body()
    }

    /// The number of tasks that wait for `key`, or nil if it is free. For tests.
    func waiters(of key: Key) -> Int? { waiting.withLock { $0[key]?.count } }

    private func unlock(_ key: Key) {
        let next = waiting.withLock { waiting -> CheckedContinuation<Void, Never>? in
            guard waiting[key]?.isEmpty == false else {
                waiting[key] = nil
                return nil
            }
            return waiting[key]?.removeFirst()
        }
        next?.resume()
    }
}
