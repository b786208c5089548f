import Base

/// The clock of the outbox: how long the quiet time has lasted, and a call later on. The system's in
/// the program, one that tests move by hand.
public protocol OutboxClock: Sendable {
    /// Time since some fixed moment; never goes back.
    func now() -> Duration
    /// Calls `body` once, on any thread, when `delay` has passed. It does not block.
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
