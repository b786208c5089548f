import Base
import Glibc
import Posix
import XFTP

/// The state of a running `chatfs file send`, stored in the folder of descriptions. The file (mode 0600) contains the
/// keys and is removed once the descriptions are written.
final class UploadRecord: Sendable {
    /// The state, and the identity of the file.
    private struct Content: Codable {
        let device: UInt64
        let inode: UInt64
        let modifiedSeconds: Int
        let modifiedNanoseconds: Int
        let state: UploadState
    }

    private static let name = ".upload"
    /// Maximum age in seconds, after which relays may have dropped the first chunks.
    private static let longestAge = 24 * 3600

    private let folder: OpenFile
    /// Locked, so that no other process repeats the upload.
    private let lock: OpenFile
    private let source: stat
    /// State of an earlier attempt; nil if there is none to resume.
    let state: UploadState?

    init(folder path: String, source file: OpenFile, fileName: String, recipients: Int) throws {
        let source = try file.status()
        guard source.st_mode & S_IFMT == S_IFREG else {
            throw SystemError(code: EISDIR, operation: "send something other than a regular file")
        }
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            throw SystemError(code: errno, operation: "make the folder for the descriptions")
        }
        let folder = try OpenFile(path, flags: O_RDONLY | O_DIRECTORY)
        guard faccessat(folder.descriptor, "snd.xftp.private", F_OK, 0) != 0 else {
            throw SystemError(
                code: EEXIST, operation: "write descriptions into the folder of another upload")
        }
        lock = try OpenFile(Self.name + ".lock", flags: O_RDWR | O_CREAT | O_NOFOLLOW, in: folder)
        guard try lock.tryLock() else {
            throw SystemError(code: EBUSY, operation: "continue an upload that another process has open")
        }
        // A missing or unreadable record starts a new upload.
        let saved = try? Self.read(in: folder, source: source)
        let isSame =
            saved?.fileName == fileName && saved?.size == UInt64(source.st_size)
            && saved?.recipients == recipients
        state = isSame ? saved : nil
        self.folder = folder
        self.source = source
    }

    /// Reads the saved state; nil if it belongs to another file, is too old, or does not exist.
    private static func read(in folder: OpenFile, source: stat) throws -> UploadState? {
        let file = try OpenFile(name, flags: O_RDONLY | O_NOFOLLOW, in: folder)
        guard time(nil) - (try file.status()).st_mtim.tv_sec < longestAge else { return nil }
        let content = try JSONLine.decoded(Content.self, from: file.readAll(limit: 512 << 20))
        guard content.device == UInt64(source.st_dev), content.inode == UInt64(source.st_ino),
            content.modifiedSeconds == source.st_mtim.tv_sec,
            content.modifiedNanoseconds == source.st_mtim.tv_nsec
        else { return nil }
        return content.state
    }

    func save(_ state: UploadState) throws {
        let content = Content(
            device: UInt64(source.st_dev), inode: UInt64(source.st_ino),
            modifiedSeconds: source.st_mtim.tv_sec, modifiedNanoseconds: source.st_mtim.tv_nsec, state: state)
        try write(JSONLine.encoded(content), to: Self.name)
    }

    /// Writes a description atomically.
    func write(_ text: String, to name: String) throws {
        let temporary = ".\(name).new"
        let target = try OpenFile(temporary, flags: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, in: folder)
        try target.write(Array(text.utf8), at: 0)
        try target.synchronise()
        try check("write a description") {
            renameat(folder.descriptor, temporary, folder.descriptor, name)
        }
    }

    /// Removes the record after the descriptions are written.
    func finish() throws {
        try check("remove the record of the upload") { unlinkat(folder.descriptor, Self.name, 0) }
        try check("remove the record of the upload") { unlinkat(folder.descriptor, Self.name + ".lock", 0) }
        try folder.synchronise()
    }
}
