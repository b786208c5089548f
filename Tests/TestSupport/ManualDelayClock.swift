import Base

/// A clock of delays that the test advances.
public final class ManualDelayClock: DelayClock {
    private struct State {
        var now = ContinuousClock.now
        var sleepers: [(deadline: ContinuousClock.Instant, semaphore: AsyncSemaphore)] = []
    }

    private let state = Lock(State(), rank: .innermost)

    public init() {}

    public var now: ContinuousClock.Instant { state.withLock { $0.now } }

    /// The deadlines of all sleeping tasks, earliest first.
    public var deadlines: [ContinuousClock.Instant] {
        state.withLock { $0.sleepers.map(\.deadline).sorted() }
    }

    public func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        let semaphore = AsyncSemaphore(0)
        let isOver = state.withLock { state in
            if deadline > state.now { state.sleepers.append((deadline, semaphore)) }
            return deadline <= state.now
        }
        if isOver { return try Task.checkCancellation() }
        defer { state.withLock { $0.sleepers.removeAll { $0.semaphore === semaphore } } }
        guard await semaphore.acquire() else { throw CancellationError() }
    }

    /// Advances the time to `end`, and ends the sleep of tasks until then.
    public func advance(to end: ContinuousClock.Instant) {
        let due = state.withLock { state in
            state.now = max(state.now, end)
            return state.sleepers.filter { $0.deadline <= end }
        }
        for sleeper in due { sleeper.semaphore.release() }
    }
}
