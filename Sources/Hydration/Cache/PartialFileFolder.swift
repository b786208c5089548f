import Base
import ChatCore
import Glibc
import Posix

/// The folder `received` in the core's staging folder, for partly received files with holes for missing chunks. The next
/// mount continues a file after a check of each chunk. Thread-safe. Methods block on disk I/O.
final class PartialFileFolder: Sendable {
    /// Start of the names that complete files get in the staging folder until the core has taken them over.
    static let handedOver = "received-"

    /// The files of earlier mounts that are not in use.
    private let left: NumberedFiles
    private let usage: Budget
    private let keeps: Bool

    /// - Parameters:
    ///   - keeps: False deletes the files of earlier mounts, and new ones have no names.
    ///   - usage: Counts the bytes of files that are not in use.
    init(in staging: OpenFile, keeps: Bool, _ usage: Budget) throws(SystemError) {
        // A crash left these. Without them, a file with a second name is one that the core has taken over.
        for name in try PrivateFolder.names(in: staging) where name.hasPrefix(Self.handedOver) {
            unlinkat(staging.descriptor, name, 0)
        }
        left = try NumberedFiles("received", in: staging) { keeps && $0.links == 1 && $0.bytes > 0 }
        self.usage = usage
        self.keeps = keeps
        usage.takeAnyway(left.all.values.reduce(0) { $0 + $1.bytes })
    }

    /// The files of earlier mounts that are not in use.
    var unusedFiles: Set<FileID> { Set(left.all.keys) }

    /// The bytes of an unused file on the disk, and its progress in per cent; nil if there is none.
    func progress(of file: FileID) -> (bytes: UInt64, percent: Int)? {
        left[file].map { ($0.bytes, Int(min(99, $0.bytes * 100 / max($0.size, 1)))) }
    }

    /// Opens the file of an earlier mount, or creates one.
    /// - Parameter size: Length of the complete file in bytes.
    /// - Throws: As open(2). The file of an earlier mount then stays unused.
    func open(_ file: FileID, size: UInt64) throws(SystemError) -> PartialFile {
        if let entry = take(file) {
            do throws(SystemError) {
                if let found = try left.open(entry, flags: O_RDWR), try found.size() == size {
                    return PartialFile(found, entry, in: left, isNew: false)
                }
            } catch {
                put(entry, of: file)
                throw error
            }
            delete(entry)
        }
        let partial = try make(file)
        do throws(SystemError) {
            try partial.file.truncate(to: size)
        } catch {
            partial.remove()
            throw error
        }
        return partial
    }

    private func make(_ file: FileID) throws(SystemError) -> PartialFile {
        // Some filesystems do not support files without names.
        if !keeps, let unnamed = try? OpenFile.unnamed(in: left.folder) {
            return PartialFile(unnamed, nil, in: left, isNew: true)
        }
        let (made, entry) = try left.make(file)
        return PartialFile(made, entry, in: left, isNew: true)
    }

    /// Ends a use that did not begin: a file of an earlier mount stays, and a new one is deleted.
    func giveBack(_ partial: PartialFile, of file: FileID) {
        if !partial.isNew, let entry = partial.entry { put(entry, of: file) } else { partial.remove() }
    }

    private func put(_ entry: NumberedFiles.Entry, of file: FileID) {
        left.put(entry, of: file)
        usage.takeAnyway(entry.bytes)
    }

    /// Takes an unused file out of the account. Does not block.
    func take(_ file: FileID) -> NumberedFiles.Entry? {
        let entry = left.take(file)
        if let entry { usage.giveBack(entry.bytes) }
        return entry
    }

    func delete(_ entry: NumberedFiles.Entry) { left.delete(entry) }

    /// Deletes the unused file that was written least recently. Returns false if there is none.
    func deleteOldest(sparing spared: Set<FileID>) -> Bool {
        guard let oldest = left.takeOldest(sparing: spared) else { return false }
        usage.giveBack(oldest.bytes)
        delete(oldest)
        return true
    }
}

/// A file of `PartialFileFolder` in use. Thread-safe.
final class PartialFile: Sendable {
    let file: OpenFile
    /// False for a file of an earlier mount.
    let isNew: Bool
    /// nil for a file without a name.
    let entry: NumberedFiles.Entry?
    private let folder: NumberedFiles

    init(_ file: OpenFile, _ entry: NumberedFiles.Entry?, in folder: NumberedFiles, isNew: Bool) {
        (self.file, self.entry, self.folder, self.isNew) = (file, entry, folder, isNew)
    }

    /// Deletes the name. The open file stays readable.
    func remove() { if let entry { folder.delete(entry) } }

    /// Gives the name to another file, which has none.
    func replace(with other: OpenFile) throws(SystemError) {
        if let entry { try folder.replace(entry, with: other) }
    }
}
