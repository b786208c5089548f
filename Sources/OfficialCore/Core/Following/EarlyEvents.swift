import Base

/// Events of a connection before its core is verified.
final class EarlyEvents: Sendable {
    /// nil if the core is another one.
    private let held = Lock<[APIEvent]?>([])

    func hold(_ event: APIEvent) { held.withLock { $0?.append(event) } }

    /// Returns the events after the core was verified.
    func take() -> [APIEvent] {
        held.withLock { held in
            defer { held = [] }
            return held ?? []
        }
    }

    /// Drops events of another core until the connection is lost.
    func drop() { held.withLock { $0 = nil } }

    func noteLoss() { held.withLock { $0 = $0 ?? [] } }
}
