import Base

/// A command that a core rejected or could not complete.
public typealias ChatError = CodedError<ChatErrorCode>

/// Codes by consequence. The file system maps each to an errno (`docs/reference/filesystem.md`).
public enum ChatErrorCode: Hashable, Sendable {
    case noSuchProfile
    case profileInUse
    case noSuchChat
    case noSuchItem
    case noSuchFile
    /// The chat accepts no files, the contact is not ready, or the member may not send.
    case sendingRefused
    /// The core may or may not have the message. Sending again may duplicate it, so only the user may decide
    /// that.
    case sendingUnsure
    /// The core may have the message and could not be asked yet. Sending the same message again resolves this
    /// without duplication.
    case sendingUndecided
    case tooLarge
    case alreadyReceiving
    case file(FileProblem.Kind)
    case nameTaken
    case invalidCommand
    /// Another release wrote the data directory.
    case wrongVersion
    case storage
    case internalError
}
