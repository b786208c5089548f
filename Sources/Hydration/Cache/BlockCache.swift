import Base
import CLinux
import Cryptography
import Glibc
import Posix

/// The folder of decrypted blocks. Every file in it is unlinked as soon as it is created. In the sealed mode,
/// blocks are encrypted with a key that exists only in locked memory of this process, so they are unreadable
/// after the process ends, even after a crash.
struct BlockCache: Sendable {
    private let folder: PrivateFolder
    private let key = SecretBytes(randomCount: 32)
    private let mode: CacheMode
    private let limit: UInt64?
    private let minimumFree: UInt64
    private let memory: ChunkMemory
    private let lastStream = Lock<UInt64>(0)
    let usage = CacheUsage()

    /// Deletes files that an earlier process left between creation and unlinking.
    init(folder: PrivateFolder, settings: HydrationSettings) throws(HydrationError) {
        self.folder = folder
        mode = settings.cacheMode
        limit = settings.cacheLimit
        minimumFree = settings.minimumFree
        memory = ChunkMemory(
            limit: mode == .memory ? settings.cacheLimit ?? settings.spareMemory : settings.spareMemory)
        do throws(SystemError) {
            try folder.empty()
        } catch {
            throw HydrationError(
                .cache, "The cache folder cannot be emptied. \(error.sentence)", cause: error)
        }
    }

    var usesDisk: Bool { mode != .memory }

    /// Creates the stream of one file. Blocks on disk I/O. A full disk causes no error; chunks then stay in
    /// memory.
    /// - Parameter contentOffset: Expected position of the content in the stream, in bytes.
    func makeStream(_ layout: ChunkLayout, contentOffset: UInt64) throws -> CachedStream {
        let id = lastStream.withLock { last in
            last += 1
            return last
        }
        return CachedStream(
            id: id, layout: layout, disk: try makeDisk(contentOffset), memory: memory, usage: usage)
    }

    private func makeDisk(_ contentOffset: UInt64) throws -> CachedStream.Disk? {
        guard mode != .memory else { return nil }
        let file = try makeFile()
        guard mode == .sealed else { return .plain(PlainStream(file: file, contentOffset: contentOffset)) }
        return .sealed(try SealedFile(file: file, key: key, fileID: SystemRandomSource().bytes(16)))
    }

    /// Creates an empty unlinked file.
    func makeFile() throws(SystemError) -> OpenFile {
        let descriptor = chatfs_open_unnamed(folder.directory.descriptor)
        if descriptor >= 0 { return OpenFile(adopting: descriptor) }
        // Some filesystems do not support O_TMPFILE.
        let name = "blocks-" + Hexadecimal.encode(SystemRandomSource().bytes(16))
        let file = try OpenFile(name, flags: O_RDWR | O_CREAT | O_EXCL, in: folder.directory)
        try check("take a cache file's name") { unlinkat(folder.directory.descriptor, name, 0) }
        return file
    }

    /// Returns true if the cache may store `bytes` more on the disk.
    func hasCapacity(for bytes: UInt64) -> Bool {
        if let limit, usage.total + bytes > limit { return false }
        guard let free = freeBytes() else { return true }
        return free >= bytes && free - bytes >= minimumFree
    }

    /// Free bytes on the cache's disk; nil if the filesystem does not report them.
    func freeBytes() -> UInt64? { try? folder.directory.availableBytes() }

    /// Deletes named files and ignores errors, because the next mount empties the folder. Unlinked files go
    /// with their last reference.
    func remove() { try? folder.empty() }
}
