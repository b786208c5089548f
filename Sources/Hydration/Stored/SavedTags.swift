import Base
import Cryptography
import Glibc
import Posix

/// The folder `tags` in the core's staging folder, with the block tags of large stored files. The next mount reads such
/// a file at once instead of checking all of it first. A tag file that is missing or damaged costs one check. Thread-safe.
/// Methods block on disk I/O.
final class SavedTags: Sendable {
    /// Smaller files are checked in less than a millisecond.
    static let minSize: UInt64 = 1 << 20
    /// Bytes of all tag files: those of 256 GiB. The oldest ones are deleted at the next mount.
    private static let maxBytes: UInt64 = 64 << 20
    /// Bytes of one tag file: those of a file of 32 GiB.
    private static let maxLength = 8 << 20

    private let folder: OpenFile
    /// Tag files that did not match their file, in case they cannot be deleted.
    private let refused = Lock<Set<String>>([])

    /// - Parameter maxBytes: See `SavedTags.maxBytes`; 0 deletes all.
    init(in staging: String, maxBytes: UInt64 = maxBytes) throws(SystemError) {
        folder = try PrivateFolder.folder("tags", in: OpenFile(staging, flags: O_RDONLY | O_DIRECTORY))
        var files: [(name: String, bytes: UInt64, time: Int)] = []
        for name in try PrivateFolder.names(in: folder) {
            var status = stat()
            guard !name.hasPrefix("."), fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0
            else {
                unlinkat(folder.descriptor, name, 0)
                continue
            }
            files.append((name, UInt64(status.st_size), status.st_mtim.tv_sec))
        }
        var total = files.reduce(0) { $0 + $1.bytes }
        for file in files.sorted(by: { $0.time < $1.time }) where total > maxBytes {
            unlinkat(folder.descriptor, file.name, 0)
            total -= file.bytes
        }
    }

    /// - Parameter size: Length of the encrypted file in bytes.
    func tags(of arguments: FileArguments, size: UInt64) -> BlockTags? {
        guard size >= Self.minSize else { return nil }
        let name = BlockTags.sealedName(of: arguments)
        guard !refused.withLock({ $0.contains(name) }),
            let file = try? OpenFile(name, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK, in: folder),
            let sealed = try? file.readAll(limit: Self.maxLength)
        else { return nil }
        return BlockTags(sealed: sealed, for: arguments, size: size)
    }

    /// Saves the tags if it can.
    func save(_ tags: BlockTags, of arguments: FileArguments, size: UInt64) {
        guard size >= Self.minSize, let sealed = tags.sealed(for: arguments), sealed.count <= Self.maxLength
        else { return }
        let name = BlockTags.sealedName(of: arguments)
        let temporary = "." + Hexadecimal.encode(SystemRandomSource().bytes(8))
        do throws(SystemError) {
            // Not synchronised: a file that a power cut leaves incomplete is not authentic.
            let file = try OpenFile(temporary, flags: O_WRONLY | O_CREAT | O_EXCL, in: folder)
            try file.write(sealed, at: 0)
            try check("name a file") { renameat(folder.descriptor, temporary, folder.descriptor, name) }
            refused.withLock { _ = $0.remove(name) }
        } catch {
            unlinkat(folder.descriptor, temporary, 0)
            Log("hydration").debug("tags of a stored file not saved: error=\(error.sentence)")
        }
    }

    /// Deletes tags, because the file does not match them.
    func remove(_ arguments: FileArguments) {
        let name = BlockTags.sealedName(of: arguments)
        refused.withLock { _ = $0.insert(name) }
        unlinkat(folder.descriptor, name, 0)
    }
}
