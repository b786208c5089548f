import Base

/// Holds tasks until it opens. Cancellation releases a task with an error.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var number: UInt64 = 0
    }
    private let state = Lock(State())

    var waiting: Int { state.withLock { $0.waiting.count } }

    func pass() async throws {
        let number = state.withLock { state in
            state.number += 1
            return state.number
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    if !state.isOpen { state.waiting[number] = continuation }
                    return state.isOpen
                }
                if goesOn { continuation.resume() }
                if Task.isCancelled { release(number) }
            }
        } onCancel: {
            release(number)
        }
        try Task.checkCancellation()
    }

    private func release(_ number: UInt64) {
        state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
    }

    func open() {
        let waiting = state.withLock { state in
            defer { state.waiting = [:] }
            state.isOpen = true
            return Array(state.waiting.values)
        }
        for continuation in waiting { continuation.resume() }
    }
}
