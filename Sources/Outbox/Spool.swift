import Base
import CLinux
import Cryptography
import Glibc
import Posix

/// The folder with the drafts' bytes: one sealed file each, of a random name, its key in the journal.
/// Removing the row makes what is left of the file on the disk unreadable. All calls block.
final class Spool: Sendable {
    private let directory: OpenFile

    init(in folder: PrivateFolder) throws(SystemError) {
        directory = try folder.subfolder("spool")
    }

    func create(_ name: String, key: [UInt8]) throws -> SealedFile {
        let file = try OpenFile(name, flags: O_RDWR | O_CREAT | O_EXCL | chatfs_o_nofollow, in: directory)
        return try SealedFile(file: file, key: key, fileID: Array(name.utf8))
    }

    func open(_ name: String, key: [UInt8]) throws -> SealedFile {
        let file = try OpenFile(name, flags: O_RDWR | chatfs_o_nofollow, in: directory)
        return try SealedFile(file: file, key: key, fileID: Array(name.utf8))
    }

    /// A file that is not there is as good as removed; one that cannot be removed is swept at the next
    /// start.
    func remove(_ name: String) { unlinkat(directory.descriptor, name, 0) }

    /// Removes every file but those named.
    func sweep(keeping kept: Set<String>) throws(SystemError) {
        try PrivateFolder.removeContents(of: directory, keeping: kept)
    }

    /// Makes the names in the folder durable.
    func synchronise() throws(SystemError) { try directory.synchronise() }

    /// Bytes that an unprivileged writer can still get on this filesystem.
    func availableBytes() throws(SystemError) -> UInt64 {
        var status = statvfs()
        try check("ask for free disk space") { fstatvfs(directory.descriptor, &status) }
        // Some network filesystems name no limit but the largest number.
        let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(
            by: UInt64(status.f_frsize))
        return overflow ? .max : bytes
    }
}
