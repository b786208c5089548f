/// A mutex for each key that tasks await without blocking a thread, in order of arrival. Different keys are
/// independent. Unused keys take no memory.
///
/// Cancellation does not end the wait: the body still runs in the calling task and checks for itself.
public final class AsyncKeyedMutex<Key: Hashable & Sendable>: Sendable {
    /// A place in the order of one key. Needs one `end`.
    public struct Turn: Sendable {
        fileprivate let key: Key
        fileprivate let number: UInt64
    }

    private struct State {
        var lastNumber: UInt64 = 0
        /// The numbers of a key's turns, the current one first.
        var turns: [Key: [UInt64]] = [:]
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Lock(State(), rank: .innermost)

    public init() {}

    /// Runs `body` with exclusive use of `key`.
    /// - Throws: The error of `body`.
    public func withLock<Result, Failure: Error>(
        _ key: Key, _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let turn = take(key)
        await begin(turn)
        defer { end(turn) }
        return try await body()
    }

    /// Takes the place behind all earlier turns of the key. Does not wait.
    public func take(_ key: Key) -> Turn {
        state.withLock { state in
            state.lastNumber += 1
            state.turns[key, default: []].append(state.lastNumber)
            return Turn(key: key, number: state.lastNumber)
        }
    }

    /// Waits until all earlier turns of the key have ended.
    public func begin(_ turn: Turn) async {
        await withCheckedContinuation { continuation in
            let isFirst = state.withLock { state in
                if state.turns[turn.key]?.first == turn.number { return true }
                state.waiting[turn.number] = continuation
                return false
            }
            if isFirst { continuation.resume() }
        }
    }

    /// Lets the next turn begin. A turn may end without having begun.
    public func end(_ turn: Turn) {
        let next = state.withLock { state in
            state.turns[turn.key]?.removeAll { $0 == turn.number }
            guard let first = state.turns[turn.key]?.first else {
                state.turns[turn.key] = nil
                return nil as CheckedContinuation<Void, Never>?
            }
            return state.waiting.removeValue(forKey: first)
        }
        next?.resume()
    }

    /// The number of turns that wait for `key`, or nil if it is free. For tests.
    func waiters(of key: Key) -> Int? { state.withLock { $0.turns[key].map { $0.count - 1 } } }
}
