import Base
import Posix

/// A file that is no sealed database, or not with this key.
public typealias SealedPagesError = CodedError<SealedPagesErrorCode>

public enum SealedPagesErrorCode: Hashable, Sendable {
    /// Something else, or nothing: an empty file.
    case notADatabase
    /// A database in clear.
    case notSealed
    /// A sealed database, with another key.
    case wrongKey
    /// A sealed database whose first page is not what was written.
    case damaged
    /// Written by a later version of the program.
    case newerVersion
    /// The system refused to read or write; `cause` is a `SystemError`.
    case file
}

extension SealedPagesError {
    static let notADatabase = SealedPagesError(
        .notADatabase, "The file is not a database: name another or restore it from a backup.")
    static let notSealed = SealedPagesError(
        .notSealed, "The database is not encrypted, and was opened with a key: open it without.")
    static let wrongKey = SealedPagesError(
        .wrongKey, "The database was encrypted with another key: unlock it with the right one.")
    static let damagedHeader = SealedPagesError(
        .damaged, "The beginning of the encrypted database is damaged: restore it from a backup.")
    static let cutShort = SealedPagesError(
        .damaged, "The encrypted database has been cut short: restore it from a backup.")
    static let newerVersion = SealedPagesError(
        .newerVersion, "The database was encrypted by a newer version of ChatFS: update ChatFS.")

    static func file(_ error: SystemError) -> SealedPagesError {
        SealedPagesError(.file, error.sentence, cause: error)
    }
}
