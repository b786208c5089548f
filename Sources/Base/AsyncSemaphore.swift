/// A number of permits that tasks await in order of arrival.
public final class AsyncSemaphore: Sendable {
    private struct State {
        var free: Int
        /// The permits that disappear when they are returned.
        var debt = 0
        var waiters: [(number: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []
        var nextNumber: UInt64 = 0
    }

    private let state: Lock<State>

    /// - Parameter count: The initial number of permits, 0 or more.
    public init(_ count: Int) { state = Lock(State(free: count)) }

    /// Waits for a permit. Returns false without one if the task is cancelled.
    public func acquire() async -> Bool {
        let number = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Bool? in
                    // If cancelled from here on, the handler below finds the waiter.
                    if Task.isCancelled { return false }
                    if state.free > 0 {
                        state.free -= 1
                        return true
                    }
                    state.waiters.append((number, continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let continuation = state.withLock { state -> CheckedContinuation<Bool, Never>? in
                state.waiters.firstIndex { $0.number == number }.map {
                    state.waiters.remove(at: $0).continuation
                }
            }
            continuation?.resume(returning: false)
        }
    }

    /// Returns or adds a permit, for the next waiter if there is one.
    public func release() {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            if state.debt > 0 {
                state.debt -= 1
                return nil
            }
            guard !state.waiters.isEmpty else {
                state.free += 1
                return nil
            }
            return state.waiters.removeFirst().continuation
        }
        next?.resume(returning: true)
    }

    /// Removes `count` permits: free ones at once, others when they are returned.
    public func withdraw(_ count: Int) {
        state.withLock { state in
            let now = min(count, state.free)
            state.free -= now
            state.debt += count - now
        }
    }
}
