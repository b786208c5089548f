import ChatCore

/// What failed with a file as a whole, for how long that is the answer, and when it is tried again. A value
/// without I/O.
struct RetryState: Sendable {
    private var recent: (problem: FileProblem, until: Duration)?
    /// What readers are answered after a cancellation, which is no failure.
    private var cancelled: (problem: FileProblem, until: Duration)?
    private var failures = 0
    /// When a file that is retained is tried again, whoever waits.
    private(set) var nextTry: Duration?

    /// The last failure, until it is tried again.
    var problem: FileProblem? { recent?.problem }

    /// What a reader is answered without a new try: the kernel repeats a failed read at once.
    func answer(now: Duration) -> FileProblem? {
        if let cancelled, cancelled.until > now { return cancelled.problem }
        guard let recent, recent.until > now else { return nil }
        return recent.problem
    }

    /// Nothing of before counts any more, and who reads before `until` is answered so.
    mutating func cancelled(_ problem: FileProblem, until: Duration) {
        self = RetryState()
        cancelled = (problem, until)
    }

    mutating func remember(_ problem: FileProblem, until: Duration) { recent = (problem, until) }

    /// Who reads next gets no answer of before.
    mutating func forgetProblem() { (recent, cancelled) = (nil, nil) }

    /// Another try later, each time after twice as long.
    mutating func postpone(now: Duration, settings: HydrationSettings) {
        failures += 1
        nextTry = now + settings.backoff(afterFailures: failures)
    }

    mutating func began() { nextTry = nil }

    mutating func succeeded() {
        forgetProblem()
        failures = 0
    }
}
