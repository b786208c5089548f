import Base

/// The tree could not be read or changed; it is unchanged.
public typealias NamespaceError = CodedError<NamespaceErrorCode>

/// The kinds of `NamespaceError`.
public enum NamespaceErrorCode: Hashable, Sendable {
    /// The name is in use in the folder.
    case nameTaken
    /// The folder or node is gone.
    case noSuchNode
    /// The index contains data that this program never writes.
    case damaged
    case diskFull
    case storage
}

extension NamespaceError {
    static var damaged: NamespaceError {
        NamespaceError(.damaged, "The index of names is damaged: remove it, names are made anew.")
    }
}
