/// An event that happens once, such as the end of a thread, and for which tasks wait. Thread-safe.
public final class OneTimeEvent: Sendable {
    private let state = Lock<(hasHappened: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))

    public init() {}

    /// Resumes all waiting tasks. Later ones do not wait.
    public func happen() {
        let waiting = state.withLock { state in
            defer { state = (true, []) }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    public func wait() async {
        await withCheckedContinuation { continuation in
            let hasHappened = state.withLock { state in
                if !state.hasHappened { state.waiting.append(continuation) }
                return state.hasHappened
            }
            if hasHappened { continuation.resume() }
        }
    }
}
