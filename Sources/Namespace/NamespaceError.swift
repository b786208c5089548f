import Base

/// The tree could not be read or changed; it is as it was.
public typealias NamespaceError = CodedError<NamespaceErrorCode>

/// What a `NamespaceError` says.
public enum NamespaceErrorCode: Hashable, Sendable {
    /// The name is in use in that folder.
    case nameTaken
    /// The folder or node is not there.
    case noSuchNode
    /// The index database holds what this program never writes.
    case damaged
    case diskFull
    case storage
}

extension NamespaceError {
    static var damaged: NamespaceError {
        NamespaceError(.damaged, "The index of names is damaged: remove it, names are made anew.")
    }
}
