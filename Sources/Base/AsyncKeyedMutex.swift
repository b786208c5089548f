/// A mutex for each key, which tasks wait for without blocking a thread: first come first served, those of different
/// keys beside each other. Nothing is kept of a key that nobody has.
///
/// Waiting is not ended by cancellation: the body runs all the same, in the task that asked, and looks for itself.
public final class AsyncKeyedMutex<Key: Hashable & Sendable>: Sendable {
    /// Those who wait, for each key that somebody has.
    private let waiting = Lock<[Key: [CheckedContinuation<Void, Never>]]>([:])

    public init() {}

    /// Runs `body` while nobody else has `key`.
    /// - Throws: what `body` throws.
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

    /// How many tasks wait for `key`; nil where nobody has it. For tests.
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
