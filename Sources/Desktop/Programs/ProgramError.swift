import Base

/// An error reply to a program.
public typealias ProgramError = CodedError<ProgramErrorCode>

public enum ProgramErrorCode: String, Codable, Hashable, Sendable, CaseIterable {
    /// Invalid request: not JSON, without id or method, or of an unknown method.
    case malformed
    /// A member is missing or invalid.
    case invalidParameter = "invalid_parameter"
    case noSuchChat = "no_such_chat"
    case noSuchItem = "no_such_item"
    /// Refused; the sentence tells why.
    case refused
    /// The request would delete a file that cannot be received again; repeat it with `last` to do so.
    case lastCopy = "last_copy"
    /// Of a command that sends: the core may nevertheless have sent the message.
    case unsure
    /// Of a command that sends: the core may have the message and the same request, repeated, finds out.
    case undecided
    /// Failed; a repetition may succeed.
    case failed
}
