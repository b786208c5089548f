import Base
import CLinux
import Cryptography
import Glibc
import Posix

/// The folder for decrypted blocks. Every file in it is sealed with a key that exists only in locked
/// memory of this process, and loses its name the moment it is made: after the process is gone, however it
/// went, nothing is left, and what a disk still holds cannot be read.
struct BlockCache: Sendable {
    private let folder: PrivateFolder
    private let key = SecretBytes(randomCount: 32)

    /// Sweeps what an earlier process may have left between making a file and taking its name.
    init(folder: PrivateFolder) throws(HydrationError) {
        self.folder = folder
        do throws(SystemError) {
            try folder.empty()
        } catch {
            throw HydrationError(
                .cache, "The cache folder cannot be emptied. \(error.sentence)", cause: error)
        }
    }

    /// Room for the stream of one file. Blocks on the disk.
    func makeFile() throws -> CachedStream {
        let id = SystemRandomSource().bytes(16)
        let name = "blocks-" + Hexadecimal.encode(id)
        let file = try OpenFile(name, flags: O_RDWR | O_CREAT | O_EXCL, in: folder.directory)
        try check("take a cache file's name") { unlinkat(folder.directory.descriptor, name, 0) }
        return CachedStream(sealed: try SealedFile(file: file, key: key, fileID: id))
    }

    /// Bytes that are free for the cache, as far as the filesystem says.
    func freeBytes() -> UInt64? {
        var status = statvfs()
        guard fstatvfs(folder.directory.descriptor, &status) == 0 else { return nil }
        return UInt64(status.f_bavail) * UInt64(status.f_frsize)
    }

    /// Removes what has a name. The files themselves go with their last reference.
    func remove() { try? folder.empty() }
}

/// The decrypted stream of one file, as far as its chunks have arrived. Any thread.
struct CachedStream: Sendable {
    let sealed: SealedFile

    /// Keeps a chunk that begins at `offset` of the stream, a multiple of the block size. One caller per
    /// chunk at a time. Blocks on the disk.
    func store(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws {
        var start = 0
        while start < bytes.count {
            let end = min(start + SealedFile.blockSize, bytes.count)
            let number = Int((offset + UInt64(start)) / UInt64(SealedFile.blockSize))
            if sealed.hasBlock(number) { try sealed.dropBlock(number) }
            try sealed.storeNewBlock(number, UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
            start = end
        }
    }

    /// Fills the buffer; false when blocks are missing or not the ones that were stored.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Bool {
        do throws(CryptographyError) {
            return try sealed.read(into: buffer, at: offset) == buffer.count
        } catch  where error.code == .notAuthentic {
            return false
        }
    }
}
