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

/// Drafts that were closed and wait for their quiet time to pass. One timer for all of them.
final class QuietTime: Sendable {
    private struct State {
        var deadlines: [Int64: (draft: Draft, at: Duration)] = [:]
        var isTimerSet = false
        var isOver = false
        var whenQuiet: @Sendable ([Draft]) -> Void = { _ in }
    }

    private let clock: any OutboxClock
    private let length: Duration
    private let state = Lock(State())

    init(length: Duration, clock: any OutboxClock) {
        self.length = length
        self.clock = clock
    }

    /// Who takes the drafts that are quiet. Set once, before the first draft is closed.
    func whenQuiet(_ body: @escaping @Sendable ([Draft]) -> Void) { state.withLock { $0.whenQuiet = body } }

    private func hand(_ drafts: [Draft]) {
        if !drafts.isEmpty { state.withLock { $0.whenQuiet }(drafts) }
    }

    /// The quiet time of `draft` begins now, or begins again.
    func begin(_ draft: Draft) {
        let at = clock.now() + length
        let isOver = state.withLock { state in
            if !state.isOver { state.deadlines[draft.id] = (draft, at) }
            return state.isOver
        }
        if isOver { hand([draft]) } else { setTimer() }
    }

    /// Whether it has begun and is not over.
    func isAwaited(by draft: Draft) -> Bool { state.withLock { $0.deadlines[draft.id] != nil } }

    func cancel(_ draft: Draft) { state.withLock { _ = $0.deadlines.removeValue(forKey: draft.id) } }

    /// No draft waits any longer, from now on.
    func end() {
        let waiting = state.withLock { state in
            state.isOver = true
            defer { state.deadlines = [:] }
            return state.deadlines.values.map(\.draft).sorted { $0.id < $1.id }
        }
        hand(waiting)
    }

    private func setTimer() {
        let now = clock.now()
        let wait: Duration? = state.withLock { state in
            // A timer that is set is early enough: every later draft is quiet later.
            guard !state.isTimerSet, let first = state.deadlines.values.map(\.at).min() else { return nil }
            state.isTimerSet = true
            return max(first - now, .zero)
        }
        if let wait { clock.call(after: wait) { [weak self] in self?.lookForQuiet() } }
    }

    private func lookForQuiet() {
        let now = clock.now()
        let quiet = state.withLock { state in
            state.isTimerSet = false
            let quiet = state.deadlines.values.filter { $0.at <= now }.sorted { $0.at < $1.at }.map(\.draft)
            for draft in quiet { state.deadlines[draft.id] = nil }
            return quiet
        }
        hand(quiet)
        setTimer()
    }
}
