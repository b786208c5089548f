import Base
import Cryptography
import Glibc
import Posix
import Store

/// An error of a draft or the outbox.
public typealias OutboxError = CodedError<OutboxErrorCode>

/// Codes of `OutboxError`, each with its errno (`docs/reference/filesystem.md`).
public enum OutboxErrorCode: Hashable, Sendable {
    /// The draft would exceed the chat's maximum size: EFBIG.
    case tooLarge
    /// No space for the draft or for sending it: ENOSPC.
    case noSpace
    /// The draft was handed over and is immutable: EPERM.
    case notPermitted
    /// Not valid UTF-8: EILSEQ.
    case invalidName
    /// Longer than 255 bytes: ENAMETOOLONG.
    case nameTooLong
    /// Another draft of the chat has the name: EEXIST.
    case nameTaken
    /// The spooled bytes are not authentic: EBADMSG.
    case damaged
    /// The draft and its bytes are removed: ESTALE.
    case gone
    /// The outbox is shutting down: ESHUTDOWN.
    case shuttingDown
    /// The journal was written by another version of the program.
    case wrongVersion
    /// The disk or the database failed: EIO.
    case storage
}

extension OutboxError {
    /// Converts an error of a lower layer.
    init(beneath error: any Error) {
        switch error {
        case let error as OutboxError:
            self = error
        case let error as SystemError where error.code == EFBIG:
            self.init(.tooLarge, tooLargeHere, cause: error)
        case let error as CryptographyError where error.systemCode == EFBIG:
            self.init(.tooLarge, tooLargeHere, cause: error)
        case let error as SystemError where error.isFullDisk:
            self.init(.noSpace, noSpaceSentence, cause: error)
        case let error as StoreError where error.code == .diskFull:
            self.init(.noSpace, noSpaceSentence, cause: error)
        case let error as StoreError where error.code == .wrongVersion:
            self.init(.wrongVersion, error.sentence, cause: error)
        case let error as CryptographyError where error.systemError?.isFullDisk == true:
            self.init(.noSpace, noSpaceSentence, cause: error)
        case let error as CryptographyError where [.notAuthentic, .tooShort].contains(error.code):
            self.init(.damaged, damagedSentence, cause: error)
        default:
            self.init(.storage, Base.sentence(of: error), cause: error)
        }
    }

    public static var immutable: OutboxError {
        OutboxError(.notPermitted, "This file is on its way already and can no longer be changed.")
    }
    static var noSpace: OutboxError { OutboxError(.noSpace, noSpaceSentence) }
    static var damaged: OutboxError { OutboxError(.damaged, damagedSentence) }
    static var unconfirmed: OutboxError {
        OutboxError(
            .damaged, "A power cut may have damaged this file. It is readable once it is known to be sent.")
    }
    static var gone: OutboxError { OutboxError(.gone, "This file was removed.") }
    static var leaving: OutboxError {
        OutboxError(.shuttingDown, "The outbox is closing: nothing new can be written.")
    }
}

private let tooLargeHere = "The file is larger than this disk, or a limit of this user, lets a file be."
private let damagedSentence = "The draft was damaged on disk: write it again."
private let noSpaceSentence =
    "The disk is full: a file that is sent needs its size on disk twice for a moment."

/// Runs `body` and converts its errors.
func described<Result>(_ body: () throws -> Result) throws(OutboxError) -> Result {
    do {
        return try body()
    } catch {
        throw OutboxError(beneath: error)
    }
}
