import Base

/// A measure that could not be taken.
typealias BenchError = CodedError<BenchErrorCode>

/// What a `BenchError` says.
enum BenchErrorCode: Hashable, Sendable {
    /// A program that it is compared with is not on this machine.
    case missing
    /// Something was started and did not do its work.
    case failed
    /// What arrived is not what was sent.
    case wrong
    /// It took too long, or somebody stopped the run.
    case stopped
}
