import Base
import ChatCore
import Cryptography
import Posix

/// An error of starting, reaching or understanding the official core, or its refusal of a command.
public struct OfficialCoreError: DescribedError {
    public enum Code: Hashable, Sendable {
        /// The core answered with an error, see `refusal`.
        case refused
        /// A value that no command may contain, such as a line break in a path. The command was not sent.
        case invalidCommand
        /// Not connected to the core. The command was not sent.
        case disconnected
        /// The connection broke during a command, which may or may not have taken effect.
        case broken
        /// No answer in time; the command may or may not have taken effect.
        case timeout
        /// Not an answer of a SimpleX core.
        case notUnderstood
        /// The program or library is missing, cannot be executed, or lacks a function.
        case notInstalled
        /// The database cannot be opened: wrong passphrase, damaged, or newer than the core.
        case database
        /// The database is encrypted, and this kind of core would expose its passphrase.
        case encryptedDatabase
        /// Another process has the database open.
        case inUse
        /// The database has no profile, and no name for one was given.
        case noProfile
        /// An error of folders, descriptors or threads; see `cause`.
        case system
        /// Another database than before answers. The command was not sent.
        case otherDatabase
        /// The core did not identify its database in time. The command was not sent.
        case unidentified
        /// The calling task was cancelled; the command may or may not have taken effect.
        case cancelled
        /// This process has closed the core. The command was not sent.
        case closed
        /// Closed during a command, which may or may not have taken effect.
        case interrupted
        /// A phone has no space for a file.
        case noSpace
        /// A phone received a file with other content. Final, because it keeps what it received.
        case damaged
        /// A phone cannot store a file.
        case notStored
    }

    public let code: Code
    public let sentence: String
    public let cause: (any Error)?
    /// The core's error if `code` is `.refused`.
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

    /// The error of a phone on which another profile than `expected` is active.
    public static func otherProfile(than expected: Profile) -> OfficialCoreError {
        OfficialCoreError(
            .otherDatabase,
            "The phone shows another profile: choose “\(expected.displayName)” in SimpleX on it, then “Use from "
                + "desktop” again.")
    }

    /// True if the command did not reach its core.
    public var isUndelivered: Bool {
        code == .disconnected || code == .otherDatabase || code == .unidentified
    }

    /// True if the command may have taken effect without an answer.
    public var leavesDoubt: Bool {
        switch code {
        case .timeout, .broken, .cancelled, .interrupted: true
        default: false
        }
    }

    private var isFullDisk: Bool {
        let failure = cause as? SystemError ?? (cause as? CryptographyError)?.systemError
        return failure?.isFullDisk == true
    }

    /// Converts the error for upper layers.
    public var chatError: ChatError {
        if let refusal { return refusal.chatError }
        let code: ChatErrorCode =
            switch self.code {
            case .refused, .notUnderstood, .cancelled, .closed, .interrupted: .internalError
            case .invalidCommand: .invalidCommand
            case .disconnected, .broken, .otherDatabase, .unidentified: .file(.unreachable)
            case .timeout: .file(.timedOut)
            case .system where isFullDisk: .file(.noSpace)
            case .notInstalled, .system, .database, .encryptedDatabase: .storage
            case .inUse: .profileInUse
            case .noProfile: .noSuchProfile
            case .noSpace: .file(.noSpace)
            case .damaged: .file(.damaged)
            case .notStored: .file(.other)
            }
        return ChatError(code, sentence, cause: self)
    }
}
