import ChatCore

/// The last failure of a file as a whole, how long readers get it, and the time of the next try. A value
/// without I/O.
struct RetryState: Sendable {
    private var recent: (problem: FileProblem, until: Duration)?
    /// The answer to readers after a cancellation, which is no failure.
    private var cancelled: (problem: FileProblem, until: Duration)?
    private var failures = 0
    /// Time of the next try of a retained file, even without a reader.
    private(set) var nextTry: Duration?

    /// The last failure, until the next try.
    var problem: FileProblem? { recent?.problem }

    /// The answer to a reader without a new try, because the kernel repeats a failed read at once.
    func answer(now: Duration) -> FileProblem? {
        if let cancelled, cancelled.until > now { return cancelled.problem }
        guard let recent, recent.until > now else { return nil }
        return recent.problem
    }

    /// Forgets failures and answers reads before `until` with this problem.
    mutating func cancelled(_ problem: FileProblem, until: Duration) {
        self = RetryState()
        cancelled = (problem, until)
    }

    mutating func remember(_ problem: FileProblem, until: Duration) { recent = (problem, until) }

    /// Forgets the answer to readers.
    mutating func forgetProblem() { (recent, cancelled) = (nil, nil) }

    /// Schedules another try; the delay doubles each time.
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
