import Base

/// For cores: gives every listener every event, in the order in which the changes were committed.
///
/// A change takes its turn inside its transaction (transactions exclude each other, so turns are in
/// commit order) and hands over its events after the commit. Events that come early wait for those of
/// earlier turns.
public final class EventHub: Sendable {
    private struct State {
        var nextTurn: UInt64 = 0
        var nextDelivery: UInt64 = 0
        var early: [UInt64: [ChatEvent]] = [:]
        var listeners: [UInt64: AsyncStream<ChatEvent>.Continuation] = [:]
        var nextListener: UInt64 = 0
        var isClosed = false
    }

    private let state = Lock(State())

    public init() {}

    /// A stream of its own, unbounded.
    public func listen() -> AsyncStream<ChatEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: ChatEvent.self)
        let number = state.withLock { state -> UInt64? in
            guard !state.isClosed else { return nil }
            state.nextListener += 1
            state.listeners[state.nextListener] = continuation
            return state.nextListener
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.listeners.removeValue(forKey: number) }
        }
        return stream
    }

    /// The turn of a change; every turn must be delivered, with no events when the change failed.
    public func turn() -> UInt64 {
        state.withLock { state in
            defer { state.nextTurn += 1 }
            return state.nextTurn
        }
    }

    public func deliver(_ events: [ChatEvent], turn: UInt64) {
        state.withLock { state in
            state.early[turn] = events
            while let events = state.early.removeValue(forKey: state.nextDelivery) {
                state.nextDelivery += 1
                // Under the lock, which keeps the order; yielding only queues.
                for listener in state.listeners.values {
                    for event in events { listener.yield(event) }
                }
            }
        }
    }

    /// Tells what is no change of the store, such as progress.
    public func tell(_ event: ChatEvent) { deliver([event], turn: turn()) }

    /// Ends every stream.
    public func close() {
        let listeners = state.withLock { state in
            state.isClosed = true
            return state.listeners.values
        }
        for listener in listeners { listener.finish() }
    }
}
