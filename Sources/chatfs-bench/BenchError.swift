import Base

/// A measure that could not be taken.
struct BenchError: DescribedError {
    enum Code: Hashable, Sendable {
        /// A program that it is compared with is not on this machine.
        case missing
        /// Something was started and did not do its work.
        case failed
        /// What arrived is not what was sent.
        case wrong
        /// It took too long, or somebody stopped the run.
        case stopped
    }

    let code: Code
    let sentence: String
    let cause: (any Error)?

    init(_ code: Code, _ sentence: String, cause: (any Error)? = nil) {
        self.code = code
        self.sentence = sentence
        self.cause = cause
    }
}
