import Base

/// An error of the chat protocol.
public typealias ChatProtocolError = CodedError<ChatProtocolErrorCode>

/// Codes by the caller's next action.
public enum ChatProtocolErrorCode: Hashable, Sendable {
    /// Unknown bytes; acknowledge and ignore the message.
    case malformed
    /// Exceeds one message, or would inflate too far.
    case tooLong
    /// A compressed message without an installed library.
    case compressionMissing
}

extension ChatProtocolError {
    static let malformed = ChatProtocolError(
        .malformed, "A received message has an unknown format.")
    static let tooLong = ChatProtocolError(.tooLong, "The message is too long; send its text as a file.")
    static let inflatesTooFar = ChatProtocolError(
        .tooLong, "A received message is larger than permitted.")
    static let compressionMissing = ChatProtocolError(
        .compressionMissing, "This message is compressed; install libzstd1 to read it.")
}
