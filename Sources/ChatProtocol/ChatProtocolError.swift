import Base

/// What can go wrong with what people's programs say to each other.
public typealias ChatProtocolError = CodedError<ChatProtocolErrorCode>

/// By what the caller does about it.
public enum ChatProtocolErrorCode: Hashable, Sendable {
    /// Bytes that the protocol does not know at this place: the message is acknowledged and ignored.
    case malformed
    /// More than fits into one message, or would inflate to more than is taken.
    case tooLong
    /// A compressed message, and there is no library that inflates it.
    case compressionMissing
}

extension ChatProtocolError {
    static let malformed = ChatProtocolError(
        .malformed, "Somebody sent a message that ChatFS does not understand.")
    static let tooLong = ChatProtocolError(.tooLong, "The message is too long; send its text as a file.")
    static let inflatesTooFar = ChatProtocolError(
        .tooLong, "Somebody sent a message that is larger than messages may be.")
    static let compressionMissing = ChatProtocolError(
        .compressionMissing, "This message is compressed; install libzstd1 to read it.")
}
