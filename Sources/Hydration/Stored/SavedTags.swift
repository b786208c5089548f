import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// The folder `tags` in the core's staging folder, with the block tags of large stored files. The next mount reads such
/// a file at once instead of checking all of it first. A tag file that is missing, damaged or of another content costs
/// one check. Thread-safe. Methods block on disk I/O.
final class SavedTags: Sendable {
    /// Smaller files are checked in less than a millisecond.
    static let minSize: UInt64 = 1 << 20
    /// Bytes of all tag files: those of 256 GiB. The oldest ones are deleted at the next mount.
    static let maxBytes: UInt64 = 64 << 20
    /// Bytes of one tag file: those of a file of 32 GiB.
    private static let maxLength = 8 << 20

    private let files: NumberedFiles
    /// The files whose tags earlier mounts saved.
    let filesOfEarlierMounts: Set<FileID>

    /// - Parameter maxBytes: See `SavedTags.maxBytes`; 0 deletes all.
    init(in staging: OpenFile, maxBytes: UInt64 = maxBytes) throws(SystemError) {
        files = try NumberedFiles("tags", in: staging) { _ in maxBytes > 0 }
        let oldestFirst = files.all.sorted { $0.value.lastWrite < $1.value.lastWrite }
        var total = oldestFirst.reduce(0) { $0 + $1.value.size }
        for (file, entry) in oldestFirst where total > maxBytes {
            files.take(file).map(files.delete)
            total -= entry.size
        }
        filesOfEarlierMounts = Set(files.all.keys)
    }

    /// - Parameter size: Length of the encrypted file in bytes.
    func tags(of file: FileID, _ arguments: FileArguments, size: UInt64) -> BlockTags? {
        guard size >= Self.minSize, let entry = files[file],
            let opened = try? files.open(entry, flags: O_RDONLY),
            let sealed = try? opened.readAll(limit: Self.maxLength)
        else { return nil }
        return BlockTags(sealed: sealed, for: arguments, size: size)
    }

    /// Saves the tags if it can.
    func save(_ tags: BlockTags, of file: FileID, _ arguments: FileArguments, size: UInt64) {
        guard size >= Self.minSize, let sealed = tags.sealed(for: arguments), sealed.count <= Self.maxLength
        else { return }
        do throws(SystemError) {
            // Not synchronised: a file that a power cut leaves incomplete is not authentic.
            let (made, entry) = try files.make(file)
            let before = files.put(entry, of: file)
            if let before { files.delete(before) }
            try made.write(sealed, at: 0)
        } catch {
            remove(file)
            Log("hydration").debug("tags of a stored file not saved: error=\(error.sentence)")
        }
    }

    /// Deletes the tags of a file.
    func remove(_ file: FileID) {
        if let entry = take(file) { delete(entry) }
    }

    /// Forgets the tags of a file before they are deleted. Does not block.
    func take(_ file: FileID) -> NumberedFiles.Entry? { files.take(file) }

    func delete(_ entry: NumberedFiles.Entry) { files.delete(entry) }
}
