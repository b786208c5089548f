import Base
import Posix

/// An error of writing or reading an archive.
public typealias ArchiveError = CodedError<ArchiveErrorCode>

/// The errors, by the user's remedy.
public enum ArchiveErrorCode: Hashable, Sendable {
    /// libarchive is not installed.
    case noLibrary
    /// The disk, the quota or the file size limit is exhausted.
    case noSpace
    /// The file is no archive of ChatFS, or was changed.
    case malformed
    /// The archive has a newer version.
    case newerVersion
    /// The content differs from the manifest.
    case damaged
    /// A file could not be read or written; `cause` is a `SystemError`.
    case file
}

extension ArchiveError {
    init(_ error: SystemError) {
        self.init(error.isFullDisk ? .noSpace : .file, error.sentence, cause: error)
    }

    static let noLibrary = ArchiveError(
        .noLibrary, "Archives need libarchive; install the package libarchive13 (or libarchive13t64).")

    static func malformed(_ reason: String) -> ArchiveError {
        ArchiveError(.malformed, "This is no archive of ChatFS, or it was changed: \(reason).")
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
