import Base

/// A draft whose quiet time is over, and which one that was: it may have begun anew since.
struct QuietDraft: Sendable {
    let draft: Draft
    let period: Int
}

/// The debounce of drafts: each begins its quiet time with its last close, and anew whenever somebody looks at it.
/// One timer for all of them. Any thread, from memory.
final class QuietTime: Sendable {
    private struct Waiting {
        let quiet: QuietDraft
        let deadline: Duration
        /// Its own time is over, and only its writers are waited for.
        let isForWriters: Bool
    }

    private struct State {
        var waiting: [Int64: Waiting] = [:]
        /// When the next timer fires: the earliest of those that were set.
        var timer: Duration?
        /// Nothing waits any longer.
        var isOver = false
        var whenQuiet: @Sendable ([QuietDraft]) -> Void = { _ in }
    }

    private let clock: any OutboxClock
    private let length: Duration
    private let state = Lock(State())

    init(length: Duration, clock: any OutboxClock) {
        self.length = length
        self.clock = clock
    }

    /// Who takes the drafts that are quiet; must not block. Set once, before the first draft is closed.
    func whenQuiet(_ body: @escaping @Sendable ([QuietDraft]) -> Void) {
        state.withLock { $0.whenQuiet = body }
    }

    /// Time by its clock.
    var now: Duration { clock.now() }

    /// So much silence of a program that may go on with a draft, and the draft counts as finished: 900 times the quiet
    /// time, a quarter of an hour as a rule.
    var patience: Duration { length * 900 }

    /// The quiet time of `draft` begins now, in place of one that is under way.
    func begin(_ draft: Draft, _ period: Int) {
        let quiet = QuietDraft(draft: draft, period: period)
        if !add(quiet, after: length, isForWriters: false) { deliver([quiet]) }
    }

    /// Its quiet time is over, and its writers are waited for, `limit` at most. When nothing waits any longer, it stays
    /// as it is.
    func begin(_ draft: Draft, _ period: Int, waiting limit: Duration) {
        _ = add(QuietDraft(draft: draft, period: period), after: limit, isForWriters: true)
    }

    /// A writer has ended: the draft waits no longer for that.
    func hurry(_ draft: Draft) {
        let quiet = state.withLock { state -> QuietDraft? in
            guard let waiting = state.waiting[draft.id], waiting.isForWriters else { return nil }
            state.waiting[draft.id] = nil
            return waiting.quiet
        }
        if let quiet { deliver([quiet]) }
    }

    /// False when nothing waits any longer.
    private func add(_ quiet: QuietDraft, after delay: Duration, isForWriters: Bool) -> Bool {
        let deadline = clock.now() + delay
        let (isWaiting, isFirst) = state.withLock { state in
            if state.isOver { return (false, false) }
            state.waiting[quiet.draft.id] = Waiting(
                quiet: quiet, deadline: deadline, isForWriters: isForWriters)
            // As a rule every later draft is quiet later; those that wait for writers may be behind others.
            return (true, state.timer.map { deadline < $0 } ?? true)
        }
        if isFirst { setTimer() }
        return isWaiting
    }

    func cancel(_ draft: Draft) { state.withLock { _ = $0.waiting.removeValue(forKey: draft.id) } }

    /// No draft waits any longer, from now on.
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
