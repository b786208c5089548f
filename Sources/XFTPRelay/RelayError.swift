import Base

/// An error that stops a relay.
public typealias RelayError = CodedError<RelayErrorCode>

/// The errors of a relay.
public enum RelayErrorCode: Hashable, Sendable {
    /// The folder cannot be used: wrong owner, another purpose, or a full disk.
    case folder
    /// Another relay uses the folder.
    case inUse
    /// The records have another version or are damaged.
    case records
    /// The relay cannot listen on the address.
    case address
    /// Certificates or keys are damaged, or of another kind than requested.
    case certificates
}
