import Base
import Cryptography
import Glibc
import Posix
import Store

/// What a draft or the outbox could not do.
public typealias OutboxError = CodedError<OutboxErrorCode>

/// By its consequence; the file system gives each its errno (`docs/reference/filesystem.md`).
public enum OutboxErrorCode: Hashable, Sendable {
    /// The write or truncation would make the draft larger than the chat accepts: EFBIG.
    case tooLarge
    /// No space for the draft, or not enough to send it afterwards: ENOSPC.
    case noSpace
    /// The draft has been handed over and is immutable: EPERM.
    case notPermitted
    /// Not valid UTF-8: EILSEQ.
    case invalidName
    /// Longer than 255 bytes: ENAMETOOLONG.
    case nameTooLong
    /// Another draft of the chat has the name: EEXIST.
    case nameTaken
    /// The bytes in the spool are not those that were written: EBADMSG.
    case damaged
    /// The draft is removed, and so are its bytes: ESTALE.
    case gone
    /// The outbox is being shut down: ESHUTDOWN.
    case shuttingDown
    /// The journal was written by another version of the program.
    case wrongVersion
    /// The disk or the database failed: EIO.
    case storage
}

extension OutboxError {
    /// What a failure beneath means for the outbox.
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
            self.init(.damaged, "The draft was damaged on disk: write it again.", cause: error)
        default:
            self.init(.storage, Base.sentence(of: error), cause: error)
        }
    }

    public static var immutable: OutboxError {
        OutboxError(.notPermitted, "This file is on its way already and can no longer be changed.")
    }
    static var noSpace: OutboxError { OutboxError(.noSpace, noSpaceSentence) }
    static var gone: OutboxError { OutboxError(.gone, "This file was removed.") }
    static var leaving: OutboxError {
        OutboxError(.shuttingDown, "The outbox is closing: nothing new can be written.")
    }
}

private let tooLargeHere = "The file is larger than this disk, or a limit of this user, lets a file be."
private let noSpaceSentence =
    "The disk is full: a file that is sent needs its size on disk twice for a moment."

/// Runs `body` and turns what it throws into an `OutboxError`.
func described<Result>(_ body: () throws -> Result) throws(OutboxError) -> Result {
    do {
        return try body()
    } catch {
        throw OutboxError(beneath: error)
    }
}
