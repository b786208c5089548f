import Posix

/// Evidence about one process that wrote, closed or renamed a draft. A value.
struct WriterEvidence: Hashable, Sendable {
    var program: WriterProgram
    /// Nil while the process runs.
    var outcome: ProcessOutcome?
    /// A read of a file of this mount failed, for the process or for one that wrote into its pipe, while it
    /// had the draft open.
    var failedRead = false
    /// At its close, the process had read its source to the end.
    var readWholeSource = false
    /// A rename on this mount failed after the process wrote the draft.
    var refusedRename = false
    /// The process was handling a signal when it closed or renamed the draft.
    var handledSignal = false
    /// The draft was closed by the process's exit.
    var closedByItsEnd = false
    /// A change of the draft's owner was refused; some programs then exit with an error. They do not try it for a file
    /// that they could not write.
    var refusedOwner = false
}
