import CLinux
import Glibc

extension OpenFile {
    /// Returns the bytes that this user may still write on the file's disk.
    /// - Throws: As fstatvfs(3).
    public func availableBytes() throws(SystemError) -> UInt64 {
        var status = statvfs()
        try check("ask for free disk space") { fstatvfs(descriptor, &status) }
        return Self.bytes(blocks: UInt64(status.f_bavail), size: UInt64(status.f_frsize))
    }

    /// Reserves disk space for a range without extending the file: fallocate(2). Does nothing on filesystems without
    /// support.
    /// - Throws: Only for missing space (`SystemError.isFullDisk`). A later write reports other errors.
    public func reserve(_ range: Range<UInt64>) throws(SystemError) {
        guard !range.isEmpty else { return }
        let isDone =
            chatfs_reserve(descriptor, Int64(clamping: range.lowerBound), Int64(clamping: range.count)) == 0
        if isDone { return }
        let error = SystemError(code: errno, operation: "reserve space for a file")
        if error.isFullDisk { throw error }
    }

    /// Returns the first position from `offset` on without data, at most the end of the file. Filesystems without holes
    /// return the end.
    /// - Throws: As lseek(2): ENXIO for an offset at the end or beyond.
    public func firstHole(from offset: UInt64) throws(SystemError) -> UInt64 {
        // SEEK_HOLE. Every read and write states its position, so that of the descriptor is free.
        let hole = lseek(descriptor, off_t(clamping: offset), 4)
        guard hole >= 0 else { throw SystemError(code: errno, operation: "look for a hole in a file") }
        return UInt64(hole)
    }

    /// Some network filesystems have no limit and report the largest number.
    static func bytes(blocks: UInt64, size: UInt64) -> UInt64 {
        let (bytes, overflow) = blocks.multipliedReportingOverflow(by: size)
        return overflow ? .max : bytes
    }
}
