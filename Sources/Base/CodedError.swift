/// The error of a module: one type for each, named by the module (`typealias NamespaceError = CodedError<…>`), whose
/// `Code` lists what can go wrong by what the caller can do about it. A module whose errors carry more than that has a
/// type of its own that conforms to `DescribedError`.
public struct CodedError<Code: Hashable & Sendable>: DescribedError {
    public let code: Code
    public let sentence: String
    public let cause: (any Error)?

    /// - Parameter sentence: see `DescribedError`.
    public init(_ code: Code, _ sentence: String, cause: (any Error)? = nil) {
        self.code = code
        self.sentence = sentence
        self.cause = cause
    }
}
