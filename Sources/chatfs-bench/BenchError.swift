import Base

/// A failed measure.
typealias BenchError = CodedError<BenchErrorCode>

/// The kinds of a `BenchError`.
enum BenchErrorCode: Hashable, Sendable {
    /// A program for the comparison is not installed.
    case missing
    /// A started process failed.
    case failed
    /// The received bytes differ from the sent ones.
    case wrong
    /// It took too long, or the run was stopped.
    case stopped
}
