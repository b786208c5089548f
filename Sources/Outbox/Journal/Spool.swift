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
        return try sealed(file, name, key: key, second: nil)
    }

    func open(_ name: String, key: [UInt8]) throws -> SealedFile {
        let file = try OpenFile(name, flags: O_RDWR | chatfs_o_nofollow, in: directory)
        let hasSecond = faccessat(directory.descriptor, Self.second(name), F_OK, 0) == 0
        return try sealed(file, name, key: key, second: hasSecond ? try openSecond(name, flags: 0) : nil)
    }

    private func sealed(
        _ file: OpenFile, _ name: String, key: [UInt8], second: OpenFile?
    ) throws -> SealedFile {
        try SealedFile(file: file, key: key, fileID: Array(name.utf8), second: second) {
            () throws(SystemError) in
            let file = try self.openSecond(name, flags: O_CREAT)
            // What lies in it shall not be lost with its name.
            try self.directory.synchronise()
            return file
        }
    }

    /// Where versions of blocks lie that must not overwrite what was synchronised.
    private static func second(_ name: String) -> String { name + secondSuffix }
    private static let secondSuffix = ".second"

    /// The names that a draft's bytes may have in the folder.
    static func files(of name: String) -> [String] { [name, second(name)] }

    /// The name of the file that one in the folder belongs to; mostly its own.
    static func first(of name: String) -> String {
        name.hasSuffix(secondSuffix) ? String(name.dropLast(secondSuffix.count)) : name
    }

    private func openSecond(_ name: String, flags: Int32) throws(SystemError) -> OpenFile {
        try OpenFile(Self.second(name), flags: O_RDWR | flags | chatfs_o_nofollow, in: directory)
    }

    /// Notes at a file that its row is not to be trusted, where that cannot be written, or takes that back. Takes no
    /// space on a full disk: it is a bit of its mode which means nothing else here. Durable.
    func mark(_ name: String, _ isMarked: Bool) throws(SystemError) {
        let mode: mode_t = isMarked ? 0o700 : 0o600
        try check("mark a file") { fchmodat(directory.descriptor, name, mode, 0) }
        try OpenFile(name, flags: O_RDONLY | chatfs_o_nofollow, in: directory).synchronise()
    }

    func isMarked(_ name: String) -> Bool {
        var status = stat()
        return fstatat(directory.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0
            && status.st_mode & S_IXUSR != 0
    }

    /// A file that is not there is as good as removed; one that cannot be removed is swept at the next
    /// start.
    func remove(_ name: String) {
        for name in [name, Self.second(name)] { unlinkat(directory.descriptor, name, 0) }
    }

    /// Removes every file but those named.
    func sweep(keeping kept: Set<String>) throws(SystemError) {
        try PrivateFolder.removeContents(of: directory, keeping: kept.union(kept.map(Self.second)))
    }

    /// Makes the names in the folder durable.
    func synchronise() throws(SystemError) { try directory.synchronise() }

    /// Bytes that an unprivileged writer can still get on this filesystem.
    func availableBytes() throws(SystemError) -> UInt64 {
        try directory.availableBytes()
    }
}
