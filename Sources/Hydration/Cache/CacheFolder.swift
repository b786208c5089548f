import Base
import CLinux
import ChatCore
import Cryptography
import Glibc
import Posix
import Synchronization
import XFTP

/// The folder of plain copies and of chunks that the core does not keep, and the limit of all partly received
/// files. Every file in it is unlinked as soon as it is created. Other partly received files lie in `partial`.
struct CacheFolder: Sendable {
    private let folder: PrivateFolder
    private let mode: CacheMode
    private let limit: UInt64?
    private let minimumFree: UInt64
    private let memory: ChunkMemory
    private let unread: ChunkMemory
    private static let lastStore = Atomic<UInt64>(0)
    private let staging: OpenFile
    let usage = Budget()
    let partial: PartialFileFolder
    let savedTags: SavedTags?

    /// Deletes files that an earlier process left between creation and unlinking.
    /// - Parameter staging: The core's staging folder.
    init(
        folder: PrivateFolder, staging: String, settings: HydrationSettings
    ) throws(HydrationError) {
        self.folder = folder
        mode = settings.cacheMode
        limit = settings.cacheLimit
        minimumFree = settings.minimumFree
        memory = ChunkMemory(
            limit: mode == .memory ? settings.cacheLimit ?? settings.spareMemory : settings.spareMemory)
        unread = ChunkMemory(limit: settings.unreadMemory)
        do throws(SystemError) {
            try folder.empty()
        } catch {
            throw HydrationError(
                .cache, "The cache folder cannot be emptied. \(error.sentence)", cause: error)
        }
        do throws(SystemError) {
            let keeps = mode != .memory
            self.staging = try OpenFile(staging, flags: O_RDONLY | chatfs_o_directory)
            partial = try PartialFileFolder(in: self.staging, keeps: keeps, usage)
            let tags = try SavedTags(in: self.staging, maxBytes: keeps ? SavedTags.maxBytes : 0)
            savedTags = keeps ? tags : nil
        } catch {
            throw HydrationError(
                .cache, "The folder of partly received files cannot be opened. \(error.sentence)",
                cause: error)
        }
    }

    var usesDisk: Bool { mode != .memory }

    /// Creates the store of one file's chunks. Blocks on disk I/O.
    /// - Parameter content: Expected place of the content in the stream, in bytes.
    func makeStore(
        _ file: FileID, _ layout: ChunkLayout, _ arguments: FileArguments, _ form: ChunkStore.Form,
        content: Range<UInt64>
    ) throws -> ChunkStore {
        let number = Self.lastStore.wrappingAdd(1, ordering: .relaxed).newValue
        let part = form.isKept ? try partial.open(file, size: layout.streamSize) : nil
        do {
            return try ChunkStore(
                number: number, layout, arguments, form,
                in: part.map { .partial($0, staging: staging) }
                    ?? (usesDisk ? .file(try makeFile()) : .memory),
                content: content, memory: memory, unread: unread, usage: usage)
        } catch {
            if let part { partial.giveBack(part, of: file) }
            throw error
        }
    }

    /// Creates an empty unlinked file.
    func makeFile() throws(SystemError) -> OpenFile {
        if let file = try? OpenFile.unnamed(in: folder.directory) { return file }
        // Some filesystems do not support O_TMPFILE.
        let name = "blocks-" + Hexadecimal.encode(SystemRandomSource().bytes(16))
        let file = try OpenFile(name, flags: O_RDWR | O_CREAT | O_EXCL, in: folder.directory)
        try check("take a cache file's name") { unlinkat(folder.directory.descriptor, name, 0) }
        return file
    }

    /// Returns true if partly received files and plain copies may take `bytes` more of the disk.
    /// - Parameter file: A file on that disk; nil for the folder's.
    func hasCapacity(for bytes: UInt64, on file: OpenFile? = nil) -> Bool {
        if let limit, usage.used + bytes > limit { return false }
        guard let free = try? (file ?? folder.directory).availableBytes() else { return true }
        return free >= bytes && free - bytes >= minimumFree
    }

    /// Free bytes on the folder's disk; nil if the filesystem does not report them.
    func freeBytes() -> UInt64? { try? folder.directory.availableBytes() }

    /// Deletes named files, as the next mount does after an error. Unlinked files go with their last reference.
    func remove() {
        do throws(SystemError) {
            try folder.empty()
        } catch {
            Log("hydration").warning("cache folder not emptied: error=\(error.sentence)")
        }
    }
}
