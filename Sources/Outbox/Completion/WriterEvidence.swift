import Posix

/// What is known of one process that wrote, closed or renamed a draft. A value.
struct WriterEvidence: Hashable, Sendable {
    var program: WriterProgram
    /// Nil while it runs.
    var outcome: ProcessOutcome?
    /// A read of a file of this mount failed for it, or for a program that wrote into its pipe, while it had the draft
    /// open.
    var failedRead = false
    /// A rename failed for it on this mount after it had written the draft.
    var refusedRename = false
    /// It was handling a signal when it closed or renamed the draft.
    var handledSignal = false
    /// Its own end has closed the draft.
    var closedByItsEnd = false
    /// It had a change of owner or mode refused on this mount, which some programs count as an error.
    var refusedAttributes = false
}
