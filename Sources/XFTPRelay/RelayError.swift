import Base

/// A relay that cannot start or go on.
public typealias RelayError = CodedError<RelayErrorCode>

/// What a `RelayError` says.
public enum RelayErrorCode: Hashable, Sendable {
    /// The folder cannot be used: not ours, made for something else, or full.
    case folder
    /// Another relay works in the folder.
    case inUse
    /// The records were written by another version, or are damaged.
    case records
    /// The address cannot be listened on.
    case address
    /// Certificates or their keys are damaged, or of another kind than asked for.
    case certificates
}
