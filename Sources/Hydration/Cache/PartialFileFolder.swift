import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// The folder `received` in the core's staging folder, for partly received files. Each is named `NUMBER-RANDOM` after
/// the core's number of the file, and has holes for missing chunks. A file outlives its mount, killed or not; the next
/// one continues it after a check of each chunk. Thread-safe. Methods block on disk I/O.
final class PartialFileFolder: Sendable {
    /// A file of an earlier mount that is not in use.
    private struct Left {
        var name: String
        /// Bytes on the disk.
        var bytes: UInt64
        var size: UInt64
        var lastWrite: Timestamp
    }

    private static let name = "received"
    private let folder: OpenFile
    private let usage: CacheUsage
    private let left: Lock<[FileID: Left]>

    /// - Parameters:
    ///   - keeps: False deletes the files of earlier mounts.
    ///   - usage: Counts the bytes of files that are not in use.
    init(in staging: String, keeps: Bool, _ usage: CacheUsage) throws(SystemError) {
        folder = try PrivateFolder.folder(Self.name, in: OpenFile(staging, flags: O_RDONLY | O_DIRECTORY))
        self.usage = usage
        var left: [FileID: Left] = [:]
        for name in try PrivateFolder.names(in: folder) {
            guard keeps, let (file, found) = Self.find(name, in: folder), left[file] == nil else {
                unlinkat(folder.descriptor, name, 0)
                continue
            }
            left[file] = found
            usage.take(found.bytes)
        }
        self.left = Lock(left)
    }

    /// Returns nil for a file without bytes, and for one that a core has taken over under another name.
    private static func find(_ name: String, in folder: OpenFile) -> (FileID, Left)? {
        var status = stat()
        guard let number = name.split(separator: "-").first.flatMap({ Int64($0) }),
            fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
            status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1, status.st_blocks > 0
        else { return nil }
        return (
            FileID(number),
            Left(
                name: name, bytes: UInt64(status.st_blocks) * 512, size: UInt64(status.st_size),
                lastWrite: Timestamp(seconds: Int64(status.st_mtim.tv_sec)))
        )
    }

    /// The files of earlier mounts that are not in use.
    var unusedFiles: Set<FileID> { left.withLock { Set($0.keys) } }

    /// The bytes of an unused file on the disk, and its progress in per cent; nil if there is none.
    func progress(of file: FileID) -> (bytes: UInt64, percent: Int)? {
        left.withLock { $0[file] }.map { ($0.bytes, Int(min(99, $0.bytes * 100 / max($0.size, 1)))) }
    }

    /// Opens the file of an earlier mount, or creates one.
    /// - Parameter size: Length of the complete file in bytes.
    func open(_ file: FileID, size: UInt64) throws(SystemError) -> PartialFile {
        if let name = take(file), let found = try? OpenFile(name, flags: O_RDWR | O_NOFOLLOW, in: folder) {
            if (try? found.size()) == size { return PartialFile(found, name, in: folder, isNew: false) }
            delete(name)
        }
        let name = "\(file.rawValue)-" + Hexadecimal.encode(SystemRandomSource().bytes(8))
        let made = try OpenFile(name, flags: O_RDWR | O_CREAT | O_EXCL, in: folder)
        try made.truncate(to: size)
        return PartialFile(made, name, in: folder, isNew: true)
    }

    /// Takes an unused file out of the account, and returns its name. Does not block.
    func take(_ file: FileID) -> String? {
        let found = left.withLock { $0.removeValue(forKey: file) }
        if let found { usage.give(found.bytes) }
        return found?.name
    }

    func delete(_ name: String) { unlinkat(folder.descriptor, name, 0) }

    /// Deletes the unused file that was written least recently. Returns false if there is none.
    func deleteOldest() -> Bool {
        let oldest = left.withLock { $0.min { $0.value.lastWrite < $1.value.lastWrite }?.key }
        guard let oldest else { return false }
        take(oldest).map(delete)
        return true
    }
}

/// A file of `PartialFileFolder` in use. Thread-safe.
final class PartialFile: Sendable {
    let file: OpenFile
    /// False for a file of an earlier mount.
    let isNew: Bool
    private let name: String
    private let folder: OpenFile

    init(_ file: OpenFile, _ name: String, in folder: OpenFile, isNew: Bool) {
        (self.file, self.name, self.folder, self.isNew) = (file, name, folder, isNew)
    }

    /// Deletes the name. The open file stays readable.
    func remove() { unlinkat(folder.descriptor, name, 0) }

    /// Gives the name to another file, which has none.
    func replace(with other: OpenFile) throws(SystemError) {
        remove()
        try check("name a file") {
            linkat(
                AT_FDCWD, "/proc/self/fd/\(other.descriptor)", folder.descriptor, name, AT_SYMLINK_FOLLOW)
        }
    }
}
