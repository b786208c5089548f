import Base

/// The clock of the outbox: time and delayed calls. Tests move theirs by hand.
public protocol OutboxClock: Sendable {
    /// Monotonic time since a fixed moment.
    func now() -> Duration
    /// Calls `body` once, on any thread, after `delay`. `body` must not block.
    func call(after delay: Duration, _ body: @escaping @Sendable () -> Void)
}

/// The system's monotonic clock.
public struct SystemOutboxClock: OutboxClock {
    private let start = ContinuousClock.now

    public init() {}

    public func now() -> Duration { ContinuousClock.now - start }

    public func call(after delay: Duration, _ body: @escaping @Sendable () -> Void) {
        Task {
            try? await Task.sleep(for: delay)
            body()
        }
    }
}
