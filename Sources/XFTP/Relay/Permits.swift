import Base

/// A number of permits that tasks wait for, first come first served. A cancelled wait throws and
/// takes none.
final class Permits: Sendable {
    private struct State {
        var free: Int
        /// Permits that are to disappear when they come back.
        var debt = 0
        var waiters: [(id: Int, continuation: CheckedContinuation<Bool, Never>)] = []
        var nextID = 0
    }

    private let state: Lock<State>

    init(count: Int) { state = Lock(State(free: count)) }

    func take() async throws(XFTPError) {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let granted = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isGranted = state.withLock { state in
                    if state.free > 0 {
                        state.free -= 1
                        return true
                    }
                    state.waiters.append((id, continuation))
                    return false
                }
                if isGranted {
                    continuation.resume(returning: true)
                } else if Task.isCancelled {
                    // Cancelled before the waiter was in the list: the handler found nothing.
                    giveUp(id)
                }
            }
        } onCancel: {
            giveUp(id)
        }
        guard granted else { throw .cancelled }
    }

    func give() {
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

    /// Makes `count` permits disappear: free ones at once, others when they are given back.
    func withdraw(_ count: Int) {
        state.withLock { state in
            let now = min(count, state.free)
            state.free -= now
            state.debt += count - now
        }
    }

    private func giveUp(_ id: Int) {
        let waiter = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard let index = state.waiters.firstIndex(where: { $0.id == id }) else { return nil }
            return state.waiters.remove(at: index).continuation
        }
        waiter?.resume(returning: false)
    }
}
