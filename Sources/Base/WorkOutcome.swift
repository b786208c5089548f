/// The result of one piece of work in a `WorkQueue`.
public enum WorkOutcome: Sendable {
    case idle
    /// No work now. Runs again after this time unless woken earlier.
    case later(Duration)
    /// More work may follow at once.
    case more
    /// Failed: runs again after the policy's growing delay, and is idle after its last attempt.
    case retry(RetryPolicy)
}
