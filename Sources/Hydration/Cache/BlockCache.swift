import Base
import CLinux
import Cryptography
import Glibc
import Posix

/// The folder for decrypted blocks. Every file in it loses its name the moment it is made, and unless the
/// user wants it otherwise is sealed with a key that exists only in locked memory of this process: after the
/// process is gone, however it went, nothing is left, and what a disk still holds cannot be read.
struct BlockCache: Sendable {
    private let folder: PrivateFolder
    private let key = SecretBytes(randomCount: 32)
    private let mode: CacheMode
    private let limit: UInt64?
    private let minimumFree: UInt64
    private let memory: ChunkMemory
    private let lastStream = Lock<UInt64>(0)
    let usage = CacheUsage()

    /// Sweeps what an earlier process may have left between making a file and taking its name.
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

    /// A place for the stream of one file. Blocks on the disk; a full disk is no obstacle, the chunks stay in
    /// memory.
    /// - Parameter contentOffset: where in the stream the content is expected to begin.
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

    /// An empty file without a name.
    func makeFile() throws(SystemError) -> OpenFile {
        let descriptor = chatfs_open_unnamed(folder.directory.descriptor)
        if descriptor >= 0 { return OpenFile(adopting: descriptor) }
        // Not every filesystem knows files without a name.
        let name = "blocks-" + Hexadecimal.encode(SystemRandomSource().bytes(16))
        let file = try OpenFile(name, flags: O_RDWR | O_CREAT | O_EXCL, in: folder.directory)
        try check("take a cache file's name") { unlinkat(folder.directory.descriptor, name, 0) }
        return file
    }

    /// Whether `bytes` more may be kept on the disk.
    func hasCapacity(for bytes: UInt64) -> Bool {
        if let limit, usage.total + bytes > limit { return false }
        guard let free = freeBytes() else { return true }
        return free >= bytes && free - bytes >= minimumFree
    }

    /// Bytes that are free on the cache's disk, as far as the filesystem says.
    func freeBytes() -> UInt64? { try? folder.directory.availableBytes() }

    /// Removes what has a name, as far as that goes: the next mount empties the folder. The files themselves go
    /// with their last reference.
    func remove() { try? folder.empty() }
}
