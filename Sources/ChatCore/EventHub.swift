import Base

/// For cores: gives every listener every event, in the order in which the changes were committed.
///
/// A change takes its number inside its transaction (transactions exclude each other, so numbers are in
/// commit order) and hands over its events after the commit. Events that come early wait for those of
/// earlier changes.
public final class EventHub: Sendable {
    private struct State {
        var nextNumber: UInt64 = 0
        var nextDelivery: UInt64 = 0
        var early: [UInt64: [ChatEvent]] = [:]
        /// Why the core cannot be reached, as it was told last.
        var problem: String?

        mutating func note(_ event: ChatEvent) {
            switch event {
            case .coreUnreachable(let sentence): problem = sentence
            case .coreReachable: problem = nil
            default: break
            }
        }
    }

    private let state = Lock(State(), rank: .collection)
    private let listeners = Broadcaster<ChatEvent>()

    public init() {}

    /// A stream of its own, unbounded. It begins with `.coreUnreachable` while the core cannot be reached.
    public func listen() -> AsyncStream<ChatEvent> {
        // Under the lock: no event comes between the problem and those that follow it.
        state.withLock { listeners.subscribe(first: $0.problem.map { .coreUnreachable($0) }) }
    }

    /// Makes a change and tells its events, in the order in which changes are committed.
    ///
    /// - Parameter change: calls its argument once, inside its transaction. The events that it returns are told
    ///   after it; none when it throws.
    public func publish<Result>(
        _ change: (_ reserve: () -> Void) throws -> (result: Result, events: [ChatEvent])
    ) rethrows -> Result {
        var number: UInt64?
        var events: [ChatEvent] = []
        // Also of a change that failed: later ones wait for it.
        defer { if let number { deliver(events, ofChange: number) } }
        let outcome = try change {
            assert(number == nil, "a change has one number")
            number = reserve()
        }
        events = outcome.events
        return outcome.result
    }

    /// Tells what is no change of the store, such as progress.
    public func tell(_ event: ChatEvent) { deliver([event], ofChange: reserve()) }

    /// The number of a change; every one must be delivered.
    func reserve() -> UInt64 {
        state.withLock { state in
            defer { state.nextNumber += 1 }
            return state.nextNumber
        }
    }

    func deliver(_ events: [ChatEvent], ofChange number: UInt64) {
        state.withLock { state in
            state.early[number] = events
            while let events = state.early.removeValue(forKey: state.nextDelivery) {
                state.nextDelivery += 1
                // Under the lock, which keeps the order; yielding only queues.
                for event in events {
                    state.note(event)
                    listeners.send(event)
                }
            }
        }
    }

    /// Ends every stream.
    public func close() { listeners.finish() }
}
