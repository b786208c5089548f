/// The monotonic clock of delays. Tests advance theirs by hand.
public protocol DelayClock: Sendable {
    var now: ContinuousClock.Instant { get }

    /// Returns at `deadline`.
    /// - Throws: `CancellationError` if the task is cancelled.
    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws
}

extension ContinuousClock: DelayClock {}
