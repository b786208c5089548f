import Base

/// A draft whose quiet time is over, and which one that was: it may have begun anew since.
struct QuietDraft: Sendable {
    let draft: Draft
    let period: Int
}

/// The debounce of drafts: each begins its quiet time with its last close, and anew whenever somebody looks at it.
/// One timer for all of them. Any thread, from memory.
final class QuietTime: Sendable {
    private struct State {
        var waiting: [Int64: (quiet: QuietDraft, deadline: Duration)] = [:]
        var isTimerSet = false
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

    /// The quiet time of `draft` begins now, in place of one that is under way.
    func begin(_ draft: Draft, _ period: Int) {
        let deadline = clock.now() + length
        let quiet = QuietDraft(draft: draft, period: period)
        let isOver = state.withLock { state in
            if !state.isOver { state.waiting[draft.id] = (quiet, deadline) }
            return state.isOver
        }
        if isOver { deliver([quiet]) } else { setTimer() }
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
            // A timer that is set is early enough: every later draft is quiet later.
            guard !state.isTimerSet, let first = state.waiting.values.map(\.deadline).min() else {
                return nil
            }
            state.isTimerSet = true
            return max(first - now, .zero)
        }
        if let delay { clock.call(after: delay) { [weak self] in self?.timerFired() } }
    }

    private func timerFired() {
        let now = clock.now()
        let quiet = state.withLock { state in
            state.isTimerSet = false
            let quiet = state.waiting.values.filter { $0.deadline <= now }
                .sorted { $0.deadline < $1.deadline }.map(\.quiet)
            for one in quiet { state.waiting[one.draft.id] = nil }
            return quiet
        }
        deliver(quiet)
        setTimer()
    }
}
