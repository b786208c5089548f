import Base

/// A draft whose quiet time ended. `period` tells whether it has restarted since.
struct QuietDraft: Sendable {
    let draft: Draft
    let period: Int
}

/// The debounce of drafts: a quiet time starts with the last close and restarts when the draft is opened. One
/// timer serves all drafts. Thread-safe; no I/O.
final class QuietTime: Sendable {
    private struct Waiting {
        let quiet: QuietDraft
        let deadline: Duration
        /// True if the quiet time is over and only writers are awaited.
        let isForWriters: Bool
    }

    private struct State {
        var waiting: [Int64: Waiting] = [:]
        /// Time of the next timer, the earliest that was set.
        var timer: Duration?
        /// True after `end`.
        var isOver = false
        var whenQuiet: @Sendable ([QuietDraft]) -> Void = { _ in }
    }

    private let clock: any OutboxClock
    let length: Duration
    private let state = Lock(State())

    init(length: Duration, clock: any OutboxClock) {
        self.length = length
        self.clock = clock
    }

    /// Sets the function that gets quiet drafts; it must not block. Set once, before the first close.
    func whenQuiet(_ body: @escaping @Sendable ([QuietDraft]) -> Void) {
        state.withLock { $0.whenQuiet = body }
    }

    /// Current time of the clock.
    var now: Duration { clock.now() }

    /// Starts or restarts the quiet time of a draft.
    func begin(_ draft: Draft, _ period: Int) {
        let quiet = QuietDraft(draft: draft, period: period)
        if !add(quiet, after: length, isForWriters: false) { deliver([quiet]) }
    }

    /// Waits at most `limit` for the writers of a draft whose quiet time is over. After `end`, the draft
    /// stays as it is.
    func begin(_ draft: Draft, _ period: Int, waiting limit: Duration) {
        _ = add(QuietDraft(draft: draft, period: period), after: limit, isForWriters: true)
    }

    /// Ends the wait for writers because one has ended.
    func hurry(_ draft: Draft) {
        let quiet = state.withLock { state -> QuietDraft? in
            guard let waiting = state.waiting[draft.id], waiting.isForWriters else { return nil }
            state.waiting[draft.id] = nil
            return waiting.quiet
        }
        if let quiet { deliver([quiet]) }
    }

    /// Returns false after `end`.
    private func add(_ quiet: QuietDraft, after delay: Duration, isForWriters: Bool) -> Bool {
        let deadline = clock.now() + delay
        let (isWaiting, isFirst) = state.withLock { state in
            if state.isOver { return (false, false) }
            state.waiting[quiet.draft.id] = Waiting(
                quiet: quiet, deadline: deadline, isForWriters: isForWriters)
            // Later drafts usually have later deadlines, except those that wait for writers.
            return (true, state.timer.map { deadline < $0 } ?? true)
        }
        if isFirst { setTimer() }
        return isWaiting
    }

    func cancel(_ draft: Draft) { state.withLock { _ = $0.waiting.removeValue(forKey: draft.id) } }

    /// Ends all quiet times, now and in future.
    func end() {
        let waiting = state.withLock { state in
            state.isOver = true
            defer { state.waiting = [:] }
            return state.waiting.values.map(\.quiet).sorted { $0.draft.id < $1.draft.id }
        }
        deliver(waiting)
    }

    private func deliver(_ drafts: [QuietDraft]) {
        if !drafts.isEmpty { state.withLock { $0.whenQuiet }(drafts) }
    }

    private func setTimer() {
        let now = clock.now()
        let delay: Duration? = state.withLock { state in
            guard let first = state.waiting.values.map(\.deadline).min() else { return nil }
            if let timer = state.timer, timer <= first { return nil }
            state.timer = first
            return max(first - now, .zero)
        }
        if let delay { clock.call(after: delay) { [weak self] in self?.timerFired() } }
    }

    private func timerFired() {
        let now = clock.now()
        let quiet = state.withLock { state in
            if let timer = state.timer, timer <= now { state.timer = nil }
            let quiet = state.waiting.values.filter { $0.deadline <= now }
                .sorted { $0.deadline < $1.deadline }.map(\.quiet)
            for one in quiet { state.waiting[one.draft.id] = nil }
            return quiet
        }
        deliver(quiet)
        setTimer()
    }
}
