import Base

/// Events of a connection of which it is not known yet whose core it leads to.
final class EarlyEvents: Sendable {
    /// nil: they are another core's.
    private let held = Lock<[APIEvent]?>([])

    func hold(_ event: APIEvent) { held.withLock { $0?.append(event) } }

    /// The core is the one that it was.
    func take() -> [APIEvent] {
        held.withLock { held in
            defer { held = [] }
            return held ?? []
        }
    }

    /// It is another one, until the connection is lost.
    func drop() { held.withLock { $0 = nil } }

    func noteLoss() { held.withLock { $0 = $0 ?? [] } }
}
