import Base

/// The tree could not be read or changed; it is as it was.
public struct NamespaceError: DescribedError {
    public enum Code: Hashable, Sendable {
        /// The name is in use in that folder.
        case nameTaken
        /// The folder or node is not there.
        case noSuchNode
        /// The index database holds what this program never writes.
        case damaged
        case diskFull
        case storage
    }

    public let code: Code
    public let sentence: String
    public let cause: (any Error)?

    public init(_ code: Code, _ sentence: String, cause: (any Error)? = nil) {
        self.code = code
        self.sentence = sentence
        self.cause = cause
    }

    static let damaged = NamespaceError(
        .damaged, "The index of names is damaged: remove it, names are made anew.")
}
