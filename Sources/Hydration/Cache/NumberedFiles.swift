import Base
import ChatCore
import Glibc
import Posix

/// The files of a folder in the core's staging folder, each named `NUMBER-RANDOM` after the core's number of a file. They
/// outlive their mount, killed or not. Thread-safe. Methods block on disk I/O unless stated otherwise.
final class NumberedFiles: Sendable {
    /// As a file was when the folder was opened.
    struct Entry: Sendable {
        let name: String
        /// Bytes on the disk.
        var bytes: UInt64 = 0
        var size: UInt64 = 0
        var lastWrite = Timestamp(seconds: 0)
        /// Number of the file's names, in any folder.
        var links = 1
    }

    let folder: OpenFile
    private let entries: Lock<[FileID: Entry]>

    /// Keeps the largest wanted file of each number and deletes all others.
    init(_ name: String, in staging: OpenFile, keeping isWanted: (Entry) -> Bool) throws(SystemError) {
        folder = try PrivateFolder.folder(name, in: staging)
        var entries: [FileID: Entry] = [:]
        for name in try PrivateFolder.names(in: folder) {
            guard let (file, entry) = Self.find(name, in: folder), isWanted(entry),
                entries[file].map({ $0.bytes < entry.bytes }) ?? true
            else {
                unlinkat(folder.descriptor, name, 0)
                continue
            }
            if let smaller = entries.updateValue(entry, forKey: file) {
                unlinkat(folder.descriptor, smaller.name, 0)
            }
        }
        self.entries = Lock(entries)
    }

    /// Returns nil for a file without a number.
    private static func find(_ name: String, in folder: OpenFile) -> (FileID, Entry)? {
        var status = stat()
        let parts = name.split(separator: "-")
        guard parts.count == 2, let number = Int64(parts[0]),
            fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
            status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        return (
            FileID(number),
            Entry(
                name: name, bytes: UInt64(status.st_blocks) * 512, size: UInt64(status.st_size),
                lastWrite: Timestamp(seconds: Int64(status.st_mtim.tv_sec)), links: Int(status.st_nlink))
        )
    }

    /// Does not block.
    var all: [FileID: Entry] { entries.withLock { $0 } }

    /// Does not block.
    subscript(_ file: FileID) -> Entry? { entries.withLock { $0[file] } }

    /// Removes the entry of a file but not the file. Does not block.
    func take(_ file: FileID) -> Entry? { entries.withLock { $0.removeValue(forKey: file) } }

    /// Takes the entry of the file that was written least recently. Does not block.
    func takeOldest(sparing spared: Set<FileID> = []) -> Entry? {
        entries.withLock { entries in
            let candidates = entries.filter { !spared.contains($0.key) }
            let oldest = candidates.min { $0.value.lastWrite < $1.value.lastWrite }?.key
            return oldest.flatMap { entries.removeValue(forKey: $0) }
        }
    }

    /// Sets the entry of a file and returns the previous one. Does not block.
    @discardableResult
    func put(_ entry: Entry, of file: FileID) -> Entry? {
        entries.withLock { $0.updateValue(entry, forKey: file) }
    }

    /// Returns nil for a missing file.
    func open(_ entry: Entry, flags: Int32) throws(SystemError) -> OpenFile? {
        try OpenFile.existing(entry.name, flags: flags | O_NOFOLLOW | O_NONBLOCK, in: folder)
    }

    /// Creates a file without an entry here.
    func make(_ file: FileID) throws(SystemError) -> (OpenFile, Entry) {
        let entry = Entry(name: "\(file.rawValue)-\(Self.random())")
        return (try OpenFile(entry.name, flags: O_RDWR | O_CREAT | O_EXCL, in: folder), entry)
    }

    /// Gives the name to another file, which has none. A kill leaves one of the two under it.
    func replace(_ entry: Entry, with other: OpenFile) throws(SystemError) {
        let temporary = "." + Self.random()
        try check("name a file") {
            linkat(
                AT_FDCWD, "/proc/self/fd/\(other.descriptor)", folder.descriptor, temporary,
                AT_SYMLINK_FOLLOW)
        }
        do throws(SystemError) {
            try check("replace a file") {
                renameat(folder.descriptor, temporary, folder.descriptor, entry.name)
            }
        } catch {
            unlinkat(folder.descriptor, temporary, 0)
            throw error
        }
    }

    func delete(_ entry: Entry) { unlinkat(folder.descriptor, entry.name, 0) }

    private static func random() -> String { Hexadecimal.encode(SystemRandomSource().bytes(8)) }
}
