import Base

/// An error that stops a message relay.
public typealias MessageRelayError = CodedError<MessageRelayErrorCode>

/// The errors of a message relay.
public enum MessageRelayErrorCode: Hashable, Sendable {
    /// The folder cannot be used: wrong owner, another purpose, or a full disk.
    case folder
    /// Another message relay uses the folder.
    case inUse
    /// The records have another version or are damaged.
    case records
    /// The relay cannot listen on the address.
    case address
}
