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

    /// Some network filesystems have no limit and report the largest number.
    static func bytes(blocks: UInt64, size: UInt64) -> UInt64 {
        let (bytes, overflow) = blocks.multipliedReportingOverflow(by: size)
        return overflow ? .max : bytes
    }
}
