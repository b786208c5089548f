import Base
import CSQLite
import Glibc
import Posix
import SealedPages

/// A database error. The transaction was rolled back.
public struct StoreError: DescribedError {
    public enum Code: Hashable, Sendable {
        /// The disk, the quota or the file size limit is exhausted.
        case diskFull
        /// Another connection held the write lock longer than the busy timeout.
        case busy
        /// SQLite or the system is out of memory.
        case noMemory
        /// The process or the system has too many open files.
        case tooManyFiles
        /// The file is corrupt, no database, or has an invalid value.
        case damaged
        /// A page of an encrypted database is not authentic.
        case damagedPage
        /// A file opened with a key is no database, or empty.
        case notADatabase
        /// An encrypted database with another key.
        case wrongKey
        /// An encrypted database opened without a key.
        case encrypted
        /// A plain database opened with a key.
        case notEncrypted
        /// Written by a newer version of the program, or by an earlier one without consent to migrate.
        case wrongVersion
        /// A UNIQUE, CHECK, NOT NULL or FOREIGN KEY rule rejected the change.
        case constraint
        /// Permissions prevent opening, creating or writing the file.
        case notAllowed
        case inputOutput
        /// A statement is wrong: a bug in the program.
        case invalidStatement
    }

    public let code: Code
    public let sentence: String
    /// The extended result code of SQLite (`sqlite3.h`), or 0 for other errors.
    public let resultCode: Int32
    public let cause: (any Error)?

    public init(_ code: Code, _ sentence: String, resultCode: Int32 = 0, cause: (any Error)? = nil) {
        self.code = code
        self.sentence = sentence
        self.resultCode = resultCode
        self.cause = cause
    }

    /// Maps a result of SQLite to an error.
    /// - Parameters:
    ///   - message: SQLite's message about the last call.
    ///   - systemError: The underlying errno, because SQLite reports a full quota and a size limit as plain I/O errors.
    init(resultCode: Int32, message: String, systemError: Int32) {
        let code: Code
        let sentence: String
        switch resultCode & 0xff {
        case SQLITE_FULL:
            (code, sentence) = (.diskFull, "The disk is full; free some space and try again.")
        case SQLITE_NOMEM: (code, sentence) = Self.noMemory
        case SQLITE_IOERR, SQLITE_CANTOPEN:
            (code, sentence) = Self.failedFileOperation(resultCode, systemError)
        // SQLITE_PROTOCOL: SQLite gave up after losing too many races for the journal.
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL:
            (code, sentence) = (.busy, "Another process locked the database for too long; try again.")
        case SQLITE_CORRUPT, SQLITE_NOTADB:
            (code, sentence) = (
                .damaged,
                "The database is corrupt or not a database; restore it from a backup or delete it."
            )
        case SQLITE_CONSTRAINT:
            (code, sentence) = (.constraint, "The database rejected a change (\(message)).")
        case SQLITE_PERM, SQLITE_READONLY, SQLITE_AUTH: (code, sentence) = Self.notAllowed
        default:
            (code, sentence) = (
                .invalidStatement, "The database rejected a statement (\(message))."
            )
        }
        self.init(code, sentence, resultCode: resultCode)
    }

    /// Maps SQLITE_IOERR and SQLITE_CANTOPEN, which leave the reason to errno.
    private static func failedFileOperation(_ resultCode: Int32, _ systemError: Int32) -> (Code, String) {
        if resultCode == SealedVFS.damagedPage {
            return (
                .damagedPage,
                "A page of the encrypted database or its journal is damaged; restore it from a backup."
            )
        }
        if resultCode == inputOutputWithoutMemory || systemError == ENOMEM { return noMemory }
        if systemError == EMFILE || systemError == ENFILE {
            return (
                .tooManyFiles,
                "The database cannot be opened because too many files are open; end other programs and try again."
            )
        }
        if resultCode & 0xff == SQLITE_CANTOPEN { return notAllowed }
        if [ENOSPC, EDQUOT, EFBIG].contains(systemError) {
            return (.diskFull, "The disk or its quota is full; free some space and try again.")
        }
        let reason = systemError == 0 ? "" : ": \(String(cString: strerror(systemError)))"
        return (.inputOutput, "The database could not be read or written\(reason).")
    }

    /// Maps an error of the VFS.
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

    /// Maps an error of a system call.
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
        Code.noMemory, "Not enough memory for the database; close other programs and try again."
    )
    /// SQLITE_IOERR_NOMEM, which Swift cannot import.
    private static let inputOutputWithoutMemory = SQLITE_IOERR | 12 << 8

    private static let notAllowed = (
        Code.notAllowed, "The database cannot be opened for writing; check its owner."
    )

    static let unconfirmedMigration = StoreError(
        .wrongVersion,
        "The data was written by an earlier version of ChatFS, which cannot use it after this version has; confirm with "
            + "--confirm-migration. A copy of the data stays next to it for a week.")

    static let encrypted = StoreError(
        .encrypted, "The database is encrypted; unlock it first.")
}
