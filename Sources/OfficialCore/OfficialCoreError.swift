import Base
import ChatCore

/// The official core could not be started, reached, understood, or refused a command.
public struct OfficialCoreError: DescribedError {
    public enum Code: Hashable, Sendable {
        /// The core answered with an error: `refusal` says which.
        case refused
        /// A value that must never be in a command, such as a line break in a path. Nothing was sent.
        case invalidCommand
        /// No connection to the core at present. Nothing was sent.
        case disconnected
        /// The connection broke while a command was under way: its bytes may have left, and whether it took
        /// effect is not known.
        case broken
        /// No answer in time; whether the command took effect is not known.
        case timeout
        /// What came is no answer of a SimpleX core.
        case notUnderstood
        /// The program or library is missing, cannot be run, or lacks a function.
        case notInstalled
        /// The database cannot be opened: wrong passphrase, damaged, newer than the core.
        case database
        /// The database is encrypted and this way of running the core would show its passphrase.
        case encryptedDatabase
        /// Another process has the database open.
        case inUse
        /// The database has no profile, and no name for one was given.
        case noProfile
        /// Folders, descriptors or threads failed; see `cause`.
        case system
        /// Another database than before answers. Nothing was sent.
        case otherDatabase
        /// It did not say in time whether its database is the former one. Nothing was sent.
        case unidentified
        /// The task that asked was cancelled; whether the command took effect is not known.
        case cancelled
        /// This process has closed the core. Nothing was sent.
        case closed
        /// The same while a command was under way; whether it took effect is not known.
        case interrupted
    }

    public let code: Code
    public let sentence: String
    public let cause: (any Error)?
    /// The core's error when `code` is `.refused`.
    public let refusal: APIError?

    public init(
        _ code: Code, _ sentence: String, cause: (any Error)? = nil, refusal: APIError? = nil
    ) {
        self.code = code
        self.sentence = sentence
        self.cause = cause
        self.refusal = refusal
    }

    /// The core's refusal, with its meaning as the sentence.
    public init(refusal: APIError) {
        self.init(.refused, refusal.chatError.sentence, refusal: refusal)
    }

    /// Whether the command surely did not reach the core that it was for.
    public var isUndelivered: Bool {
        code == .disconnected || code == .otherDatabase || code == .unidentified
    }

    /// Whether the command may have taken effect though no answer came.
    public var leavesDoubt: Bool {
        switch code {
        case .timeout, .broken, .cancelled, .interrupted: true
        default: false
        }
    }

    /// The same for the layers above.
    public var chatError: ChatError {
        if let refusal { return refusal.chatError }
        let code: ChatErrorCode =
            switch self.code {
            case .refused, .notUnderstood, .cancelled, .closed, .interrupted: .internalError
            case .invalidCommand: .invalidCommand
            case .disconnected, .broken, .otherDatabase, .unidentified: .file(.unreachable)
            case .timeout: .file(.timedOut)
            case .notInstalled, .system, .database, .encryptedDatabase: .storage
            case .inUse: .profileInUse
            case .noProfile: .noSuchProfile
            }
        return ChatError(code, sentence, cause: self)
    }
}
