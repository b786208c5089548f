import Base
import Posix

/// An archive that cannot be written or read.
public typealias ArchiveError = CodedError<ArchiveErrorCode>

/// By what its user can do.
public enum ArchiveErrorCode: Hashable, Sendable {
    /// libarchive is not installed.
    case noLibrary
    /// The disk, the quota or the file size limit.
    case noSpace
    /// No archive of ChatFS, or one that somebody changed.
    case malformed
    /// Of a newer version.
    case newerVersion
    /// What is read is not what the archive says it is.
    case damaged
    /// A file could not be read or written; `cause` is a `SystemError`.
    case file
}

extension ArchiveError {
    init(_ error: SystemError) {
        self.init(error.isFullDisk ? .noSpace : .file, error.sentence, cause: error)
    }

    static let noLibrary = ArchiveError(
        .noLibrary, "Archives need libarchive: install the package libarchive13 (or libarchive13t64).")

    static func malformed(_ why: String) -> ArchiveError {
        ArchiveError(.malformed, "This is no archive of ChatFS, or it was changed: \(why).")
    }
}

/// Runs a file operation and wraps its error.
func wrappingSystemError<Result>(_ body: () throws(SystemError) -> Result) throws(ArchiveError) -> Result {
    do throws(SystemError) {
        return try body()
    } catch {
        throw ArchiveError(error)
    }
}
