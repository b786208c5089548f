import CLinux
import Glibc

extension OpenFile {
    /// Bytes that this user may still write on the disk that this file or folder lies on.
    /// - Throws: as fstatvfs(3).
    public func availableBytes() throws(SystemError) -> UInt64 {
        var status = statvfs()
        try check("ask for free disk space") { fstatvfs(descriptor, &status) }
        return Self.bytes(blocks: UInt64(status.f_bavail), size: UInt64(status.f_frsize))
    }

    /// Reserves space on the disk for a range, without making the file longer: fallocate(2). Filesystems that cannot do
    /// this allocate as it comes.
    /// - Throws: where there is none (`SystemError.isFullDisk`), and nothing else: what else fails is met by who writes.
    public func reserve(_ range: Range<UInt64>) throws(SystemError) {
        guard !range.isEmpty else { return }
        let isDone =
            chatfs_reserve(descriptor, Int64(clamping: range.lowerBound), Int64(clamping: range.count)) == 0
        if isDone { return }
        let error = SystemError(code: errno, operation: "reserve space for a file")
        if error.isFullDisk { throw error }
    }

    /// Some network filesystems know no limit and name the largest number.
    static func bytes(blocks: UInt64, size: UInt64) -> UInt64 {
        let (bytes, overflow) = blocks.multipliedReportingOverflow(by: size)
        return overflow ? .max : bytes
    }
}
