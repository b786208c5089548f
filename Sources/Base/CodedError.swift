/// The error of a module, named by it (`typealias NamespaceError = CodedError<…>`). Its `Code` lists the errors by the
/// caller's reaction. A module with further details has its own type that conforms to `DescribedError`.
public struct CodedError<Code: Hashable & Sendable>: DescribedError {
    public let code: Code
    public let sentence: String
    public let cause: (any Error)?

    /// - Parameter sentence: See `DescribedError`.
    public init(_ code: Code, _ sentence: String, cause: (any Error)? = nil) {
        self.code = code
        self.sentence = sentence
        self.cause = cause
    }
}
