import Base
import Posix

/// An error about the form or key of a sealed database.
public typealias SealedPagesError = CodedError<SealedPagesErrorCode>

public enum SealedPagesErrorCode: Hashable, Sendable {
    /// Another kind of file, or an empty one.
    case notADatabase
    /// A plain database.
    case notSealed
    /// A sealed database with another key.
    case wrongKey
    /// A sealed database with a damaged first page.
    case damaged
    /// Written by a later version of the program.
    case newerVersion
    /// A system call failed; `cause` is a `SystemError`.
    case file
}

extension SealedPagesError {
    static let notADatabase = SealedPagesError(
        .notADatabase, "The file is not a database; choose another or restore it from a backup.")
    static let notSealed = SealedPagesError(
        .notSealed, "The database is not encrypted; open it without a key.")
    static let wrongKey = SealedPagesError(
        .wrongKey, "The database was encrypted with another key; unlock it with that key.")
    static let damagedHeader = SealedPagesError(
        .damaged, "The beginning of the encrypted database is damaged; restore it from a backup.")
    static let cutShort = SealedPagesError(
        .damaged, "The encrypted database is truncated; restore it from a backup.")
    static let newerVersion = SealedPagesError(
        .newerVersion, "The database was encrypted by a newer version of ChatFS; update ChatFS.")

    static func file(_ error: SystemError) -> SealedPagesError {
        SealedPagesError(.file, error.sentence, cause: error)
    }
}
