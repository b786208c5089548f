import Base
import CLinux
import Cryptography
import Glibc
import Posix

/// The folder of the drafts' bytes: one sealed file each, with a random name and its key in the journal.
/// Deleting the row makes remains on the disk unreadable. All calls block.
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

    /// Replaces a file by a synchronised one with the bytes that `write` writes.
    func replace(_ name: String, key: [UInt8], _ write: (SealedFile) throws -> Void) throws {
        let new = name + ".new"
        unlinkat(directory.descriptor, new, 0)
        let file = try sealed(
            OpenFile(new, flags: O_RDWR | O_CREAT | O_EXCL, in: directory), name, key: key, second: nil)
        try write(file)
        try file.synchronise()
        unlinkat(directory.descriptor, Self.second(name), 0)
        try check("replace a file") {
            renameat(directory.descriptor, new, directory.descriptor, name)
        }
        try directory.synchronise()
    }

    private func sealed(
        _ file: OpenFile, _ name: String, key: [UInt8], second: OpenFile?
    ) throws -> SealedFile {
        try SealedFile(file: file, key: key, fileID: Array(name.utf8), second: second) {
            () throws(SystemError) in
            let file = try self.openSecond(name, flags: O_CREAT)
            // The bytes must not be lost with the file's name.
            try self.directory.synchronise()
            return file
        }
    }

    /// File for new block versions that must not overwrite synchronised ones.
    private static func second(_ name: String) -> String { name + secondSuffix }
    private static let secondSuffix = ".second"

    /// Possible file names of a draft's bytes.
    static func files(of name: String) -> [String] { [name, second(name)] }

    /// The name of the draft's first file for a file in the folder.
    static func first(of name: String) -> String {
        name.hasSuffix(secondSuffix) ? String(name.dropLast(secondSuffix.count)) : name
    }

    private func openSecond(_ name: String, flags: Int32) throws(SystemError) -> OpenFile {
        try OpenFile(Self.second(name), flags: O_RDWR | flags | chatfs_o_nofollow, in: directory)
    }

    /// Marks a file whose row is wrong and cannot be written, or removes the mark. Uses an otherwise unused
    /// mode bit, so it needs no space on a full disk. Durable.
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

    /// Ignores missing files. A file that cannot be removed is deleted at the next start.
    func remove(_ name: String) {
        for name in [name, Self.second(name)] { unlinkat(directory.descriptor, name, 0) }
    }

    /// Deletes all files except those named.
    func sweep(keeping kept: Set<String>) throws(SystemError) {
        try PrivateFolder.removeContents(of: directory, keeping: kept.union(kept.map(Self.second)))
    }

    /// Makes names in the folder durable.
    func synchronise() throws(SystemError) { try directory.synchronise() }

    /// Free bytes for unprivileged writers on this filesystem.
    func availableBytes() throws(SystemError) -> UInt64 {
        try directory.availableBytes()
    }
}
