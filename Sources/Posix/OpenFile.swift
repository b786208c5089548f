import Base
import CLinux
import Glibc
import Synchronization

/// An open file, closed with the last reference. Safe to share: every operation states its offset, and the kernel
/// serialises the rest. All calls block, so never use the cooperative pool.
public final class OpenFile: Sendable {
    public let descriptor: Int32
    /// Whether this object has a lock, which it releases at its end.
    private let hasLock = Atomic(false)

    /// Takes over an open descriptor.
    public init(adopting descriptor: Int32) { self.descriptor = descriptor }

    /// open(2), always close-on-exec. `mode` applies only with O_CREAT.
    /// - Throws: As open(2).
    public convenience init(
        _ path: String, flags: Int32, mode: mode_t = 0o600, in directory: OpenFile? = nil
    ) throws(SystemError) {
        LockClass.expectNoMemoryMutex(during: "opening a file")
        let base = directory?.descriptor ?? AT_FDCWD
        self.init(
            adopting: try check("open a file") { openat(base, path, flags | O_CLOEXEC, mode) })
    }

    /// The same, but returns nil for a missing file. All other failures are errors: a caller that treats them as
    /// missing may overwrite a file.
    /// - Throws: As open(2), except ENOENT.
    public static func existing(
        _ path: String, flags: Int32, in directory: OpenFile? = nil
    ) throws(SystemError) -> OpenFile? {
        do throws(SystemError) {
            return try OpenFile(path, flags: flags, in: directory)
        } catch {
            guard error.code == ENOENT else { throw error }
            return nil
        }
    }

    /// Opens a regular file for reading. Returns nil for anything else with this name: opening a pipe could wait for
    /// ever, and reading a device may have effects.
    /// - Parameter flags: Flags in addition to those for reading.
    /// - Throws: As open(2), except ENXIO, the result for sockets and pipes.
    public static func regular(
        _ path: String, flags: Int32 = 0, in directory: OpenFile? = nil
    ) throws(SystemError) -> OpenFile? {
        do throws(SystemError) {
            let file = try OpenFile(
                path, flags: O_RDONLY | O_NONBLOCK | O_NOCTTY | flags, in: directory)
            return try file.status().st_mode & S_IFMT == S_IFREG ? file : nil
        } catch {
            guard error.code == ENXIO else { throw error }
            return nil
        }
    }

    /// A child that is being started has a copy of the descriptor until it runs its program, so closing the file would
    /// leave it the lock.
    deinit {
        if hasLock.load(ordering: .relaxed) { flock(descriptor, LOCK_UN) }
        close(descriptor)
    }

    /// Fills `buffer` from `offset`; fewer bytes only at the end of the file.
    /// - Throws: As pread(2).
    public func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(SystemError) -> Int {
        LockClass.expectNoMemoryMutex(during: "reading a file")
        var filled = 0
        while filled < buffer.count {
            let count = try check("read a file") {
                pread(
                    descriptor, buffer.baseAddress! + filled, buffer.count - filled,
                    off_t(offset) + off_t(filled))
            }
            if count == 0 { break }
            filled += count
        }
        return filled
    }

    /// Writes all of `buffer` at `offset`.
    /// - Throws: As pwrite(2), including `isFullDisk`; a part may have been written.
    public func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(SystemError) {
        LockClass.expectNoMemoryMutex(during: "writing a file")
        var written = 0
        while written < buffer.count {
            written += try check("write a file") {
                pwrite(
                    descriptor, buffer.baseAddress! + written, buffer.count - written,
                    off_t(offset) + off_t(written))
            }
        }
    }

    /// - Throws: As fstat(2).
    public func status() throws(SystemError) -> stat {
        var status = stat()
        try check("look at a file") { fstat(descriptor, &status) }
        return status
    }

    /// - Throws: As fstat(2).
    public func size() throws(SystemError) -> UInt64 { UInt64(try status().st_size) }

    /// - Throws: As ftruncate(2).
    public func truncate(to size: UInt64) throws(SystemError) {
        try check("set a file's length") { ftruncate(descriptor, off_t(size)) }
    }

    /// Makes data and length durable: fsync(2). Also for directories.
    /// - Throws: As fsync(2).
    public func synchronise() throws(SystemError) {
        LockClass.expectNoMemoryMutex(during: "synchronising a file")
        try check("write a file to disk") { fsync(descriptor) }
    }

    /// Starts writing to disk without waiting: sync_file_range(2). Guarantees nothing.
    public func beginWritingBack() { _ = chatfs_begin_writing_back(descriptor) }

    /// Removes clean pages of a range from memory, so that the next read comes from the disk: posix_fadvise(2).
    /// Guarantees nothing.
    public func dropFromMemory(_ range: Range<UInt64>) {
        posix_fadvise(
            descriptor, off_t(range.lowerBound), off_t(range.upperBound - range.lowerBound),
            Int32(POSIX_FADV_DONTNEED))
    }

    /// Creates a file without a name, for reading and writing. It is deleted with its last descriptor unless linkat(2) names
    /// it.
    /// - Throws: As open(2) with O_TMPFILE, EOPNOTSUPP without support of the filesystem.
    public static func unnamed(in folder: OpenFile) throws(SystemError) -> OpenFile {
        OpenFile(adopting: try check("make a file") { chatfs_open_unnamed(folder.descriptor) })
    }

    /// Makes everything on the file's filesystem durable with one wait: syncfs(2). Reports failed writes since Linux
    /// 5.8.
    /// - Throws: As syncfs(2).
    public func synchroniseFilesystem() throws(SystemError) {
        try check("write files to disk") { chatfs_sync_filesystem(descriptor) }
    }

    /// Reads everything, up to `limit` bytes.
    /// - Throws: EFBIG for a longer file; as pread(2).
    public func readAll(limit: Int) throws(SystemError) -> [UInt8] {
        let size = try size()
        guard size <= UInt64(limit) else { throw SystemError(code: EFBIG, operation: "read a file") }
        return try read(count: Int(size), at: 0)
    }

    /// Reads up to `count` bytes from `offset`, fewer only at the end of the file.
    /// - Throws: As pread(2).
    public func read(count: Int, at offset: UInt64) throws(SystemError) -> [UInt8] {
        var failure: SystemError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            do throws(SystemError) {
                filled = try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// - Throws: As for a buffer.
    public func write(_ bytes: [UInt8], at offset: UInt64) throws(SystemError) {
        try bytes.withUnsafeBufferPointer { buffer throws(SystemError) in
            try write(UnsafeRawBufferPointer(buffer), at: offset)
        }
    }
}

extension OpenFile {
    /// Locks the whole file for the life of this object. Returns false if another object holds a conflicting lock.
    /// - Parameter shared: Whether others may share the lock.
    /// - Throws: As flock(2), except EWOULDBLOCK.
    public func tryLock(shared: Bool = false) throws(SystemError) -> Bool {
        if flock(descriptor, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 {
            hasLock.store(true, ordering: .relaxed)
            return true
        }
        if errno == EWOULDBLOCK { return false }
        throw SystemError(code: errno, operation: "lock a file")
    }

    /// As `tryLock`, for a file that its holder renames or removes. Also returns false if another file has the name now:
    /// this one may be the finished file of a holder that ended after it was opened here.
    /// - Throws: As flock(2), except EWOULDBLOCK; as fstat(2).
    public func tryLock(named name: String, in directory: OpenFile? = nil) throws(SystemError) -> Bool {
        guard try tryLock() else { return false }
        let own = try status()
        var named = stat()
        guard fstatat(directory?.descriptor ?? AT_FDCWD, name, &named, AT_SYMLINK_NOFOLLOW) == 0 else {
            return false
        }
        return named.st_ino == own.st_ino && named.st_dev == own.st_dev
    }

    /// The exclusive lock; waits for other holders.
    /// - Throws: As flock(2).
    public func lock() throws(SystemError) {
        try check("lock a file") { flock(descriptor, LOCK_EX) }
        hasLock.store(true, ordering: .relaxed)
    }

    /// Releases the lock early.
    public func unlock() {
        hasLock.store(false, ordering: .relaxed)
        flock(descriptor, LOCK_UN)
    }
}
