import Base

/// A message relay that cannot start or go on.
public typealias MessageRelayError = CodedError<MessageRelayErrorCode>

/// What a `MessageRelayError` says.
public enum MessageRelayErrorCode: Hashable, Sendable {
    /// The folder cannot be used: not ours, made for something else, or full.
    case folder
    /// Another message relay works in the folder.
    case inUse
    /// The records were written by another version, or are damaged.
    case records
    /// The address cannot be listened on.
    case address
}
