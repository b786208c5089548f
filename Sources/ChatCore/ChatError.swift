import Base

/// A command that a core refused or could not carry out.
public typealias ChatError = CodedError<ChatErrorCode>

/// By its consequence; the file system gives each its errno (`docs/semantics.md`).
public enum ChatErrorCode: Hashable, Sendable {
    case noSuchProfile
    case profileInUse
    case noSuchChat
    case noSuchItem
    case noSuchFile
    /// The chat does not take files, the contact is not ready, the member may not send.
    case sendingRefused
    /// It cannot be known whether the core has the message: sending it again may send it twice, so
    /// only the user can say so.
    case sendingUnsure
    /// The core may have the message and could not be asked yet: the same message again finds out, and
    /// is sent once.
    case sendingUndecided
    case tooLarge
    case alreadyReceiving
    case file(FileProblem.Kind)
    case nameTaken
    case invalidCommand
    /// The data directory was written by another version.
    case wrongVersion
    case storage
    case internalError
}
