import Base

/// Tells everybody who listens. Any thread.
final class ChangeBroadcast: Sendable {
    private struct State {
        var listeners: [UInt64: AsyncStream<HydrationChange>.Continuation] = [:]
        var lastNumber: UInt64 = 0
        var isFinished = false
    }

    private let state = Lock(State())

    /// Changes from now on, until the stream is dropped or all end.
    func subscribe() -> AsyncStream<HydrationChange> {
        let (stream, continuation) = AsyncStream.makeStream(of: HydrationChange.self)
        let number = state.withLock { state -> UInt64? in
            if state.isFinished { return nil }
            state.lastNumber += 1
            state.listeners[state.lastNumber] = continuation
            return state.lastNumber
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { $0.listeners[number] = nil }
        }
        return stream
    }

    func send(_ change: HydrationChange) {
        let listeners = state.withLock { Array($0.listeners.values) }
        for listener in listeners { listener.yield(change) }
    }

    func finish() {
        let listeners = state.withLock { state in
            state.isFinished = true
            defer { state.listeners = [:] }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }
}
