import Base
import CSQLite
import Glibc
import Posix
import SealedPages

/// A database that could not do what it was asked. What had begun is rolled back: nothing changed.
public struct StoreError: DescribedError {
    public enum Code: Hashable, Sendable {
        /// The disk, the quota or the file size limit.
        case diskFull
        /// Another connection kept the write lock longer than the busy timeout, or was always faster.
        case busy
        /// For SQLite, or for the system beneath it.
        case noMemory
        /// This process, or the whole system, has as many files open as it may.
        case tooManyFiles
        /// Corrupt, no database at all, or with a value that the program never writes.
        case damaged
        /// A page of an encrypted database is not what was written there.
        case damagedPage
        /// Opened with a key: something else, an empty file too.
        case notADatabase
        /// An encrypted database, with another key.
        case wrongKey
        /// An encrypted database, opened without a key.
        case encrypted
        /// A database in clear, opened with a key.
        case notEncrypted
        /// Written by a newer version of the program, or by an earlier one, and consent to the change is missing.
        case wrongVersion
        /// A UNIQUE, CHECK, NOT NULL or FOREIGN KEY rule refused the change.
        case constraint
        /// The file cannot be opened, made or written with these permissions.
        case notAllowed
        case inputOutput
        /// A wrong statement: a mistake in the program.
        case invalidStatement
    }

    public let code: Code
    public let sentence: String
    /// The extended result code of SQLite (`sqlite3.h`), 0 when SQLite was not asked.
    public let resultCode: Int32
    public let cause: (any Error)?

    public init(_ code: Code, _ sentence: String, resultCode: Int32 = 0, cause: (any Error)? = nil) {
        self.code = code
        self.sentence = sentence
        self.resultCode = resultCode
        self.cause = cause
    }

    /// What SQLite says about the last call on `connection`, in words for a person. `systemError` is
    /// the errno beneath: SQLite reports a full quota and a size limit as plain I/O errors.
    init(resultCode: Int32, message: String, systemError: Int32) {
        let code: Code
        let sentence: String
        switch resultCode & 0xff {
        case SQLITE_FULL:
            (code, sentence) = (.diskFull, "The disk is full: free some space and try again.")
        case SQLITE_IOERR where resultCode == SealedVFS.damagedPage:
            (code, sentence) = (
                .damagedPage,
                "A page of the encrypted database or of its journal is damaged: restore it from a backup."
            )
        case SQLITE_NOMEM: (code, sentence) = Self.noMemory
        case SQLITE_IOERR where resultCode == Self.inputOutputWithoutMemory:
            (code, sentence) = Self.noMemory
        case SQLITE_IOERR where [ENOSPC, EDQUOT, EFBIG].contains(systemError):
            (code, sentence) = (.diskFull, "The disk or its quota is full: free some space and try again.")
        case SQLITE_IOERR where systemError == ENOMEM, SQLITE_CANTOPEN where systemError == ENOMEM:
            (code, sentence) = Self.noMemory
        case SQLITE_IOERR where Self.areTooManyFiles(systemError),
            SQLITE_CANTOPEN where Self.areTooManyFiles(systemError):
            (code, sentence) = (
                .tooManyFiles,
                "The database cannot be opened, because too many files are open: end other programs and try again."
            )
        case SQLITE_IOERR:
            let reason = systemError == 0 ? "" : ": \(String(cString: strerror(systemError)))"
            (code, sentence) = (.inputOutput, "The database could not be read or written\(reason).")
        // The last: others began so often to use the journal that it was given up.
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL:
            (code, sentence) = (.busy, "Another process is using the database for too long; try again.")
        case SQLITE_CORRUPT, SQLITE_NOTADB:
            (code, sentence) = (
                .damaged,
                "The database is corrupt or is not a database: restore it from a backup or remove it."
            )
        case SQLITE_CONSTRAINT:
            (code, sentence) = (.constraint, "The database refused a change (\(message)).")
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_READONLY, SQLITE_AUTH:
            (code, sentence) = (.notAllowed, "The database cannot be opened for writing: check who owns it.")
        default:
            (code, sentence) = (
                .invalidStatement, "The database did not understand a statement (\(message))."
            )
        }
        self.init(code, sentence, resultCode: resultCode)
    }

    /// A file that the VFS refused, or could not make.
    init(_ error: SealedPagesError) {
        let code: Code =
            switch error.code {
            case .notADatabase: .notADatabase
            case .notSealed: .notEncrypted
            case .wrongKey: .wrongKey
            case .damaged: .damaged
            case .newerVersion: .wrongVersion
            case .file: (error.cause as? SystemError).map(Self.code) ?? .notAllowed
            }
        self.init(code, error.sentence, cause: error)
    }

    /// A file that could not be made or looked at.
    init(_ error: SystemError) { self.init(Self.code(of: error), error.sentence, cause: error) }

    private static func code(of error: SystemError) -> Code {
        switch error.code {
        case _ where error.isFullDisk: .diskFull
        case EMFILE, ENFILE: .tooManyFiles
        case ENOMEM: .noMemory
        default: .notAllowed
        }
    }

    static let noMemory = (
        Code.noMemory, "There is not enough memory for the database: close other programs and try again."
    )
    /// SQLITE_IOERR_NOMEM, which Swift cannot import.
    private static let inputOutputWithoutMemory = SQLITE_IOERR | 12 << 8

    private static func areTooManyFiles(_ systemError: Int32) -> Bool {
        systemError == EMFILE || systemError == ENFILE
    }

    static let unconfirmedMigration = StoreError(
        .wrongVersion,
        "The data was written by an earlier version of ChatFS, which cannot use it any more once this one has: give "
            + "--confirm-migration. A copy of what there is stays beside it for a week.")

    static let encrypted = StoreError(
        .encrypted, "The database is encrypted, and was opened without a key: unlock it first.")
}
