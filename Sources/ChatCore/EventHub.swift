import Base

/// Delivers each event of a core to all listeners, in the order of commits.
///
/// A change reserves a number inside its transaction and delivers its events after the commit. Transactions
/// exclude each other, so numbers follow the order of commits. Early events wait for those of earlier
/// changes.
public final class EventHub: Sendable {
    private struct State {
        var nextNumber: UInt64 = 0
        var nextDelivery: UInt64 = 0
        var early: [UInt64: [ChatEvent]] = [:]
        /// The last `.coreUnreachable` while it holds.
        var absence: ChatEvent?

        mutating func note(_ event: ChatEvent) {
            switch event {
            case .coreUnreachable: absence = event
            case .coreReachable: absence = nil
            default: break
            }
        }
    }

    private let state = Lock(State(), rank: .collection)
    private let listeners = Broadcaster<ChatEvent>()

    public init() {}

    /// Returns a new unbounded stream. It starts with `.coreUnreachable` while that holds.
    public func listen() -> AsyncStream<ChatEvent> {
        // Subscribe under the lock, so that no event comes between.
        state.withLock { listeners.subscribe(first: $0.absence) }
    }

    /// Makes a change and publishes its events in the order of commits.
    ///
    /// - Parameter change: calls `reserve` at the start of its transaction, again when a full disk makes it begin
    ///   anew, and returns the events to publish. If it throws, none are published.
    public func publish<Result>(
        _ change: (_ reserve: () -> Void) throws -> (result: Result, events: [ChatEvent])
    ) rethrows -> Result {
        var number: UInt64?
        var events: [ChatEvent] = []
        // Deliver even for a failed change, as later ones wait for it.
        defer { if let number { deliver(events, ofChange: number) } }
        let outcome = try change {
            if let number { deliver([], ofChange: number) }
            number = reserve()
        }
        events = outcome.events
        return outcome.result
    }

    /// Publishes an event outside any transaction, such as progress.
    public func tell(_ event: ChatEvent) { deliver([event], ofChange: reserve()) }

    /// Reserves a change's number, which must be delivered.
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
                // Send under the lock to keep the order; it only queues.
                for event in events {
                    state.note(event)
                    listeners.send(event)
                }
            }
        }
    }

    /// Ends all streams.
    public func close() { listeners.finish() }
}
