import Glibc

extension OpenFile {
    /// Bytes that this user may still write on the disk that this file or folder lies on.
    public func availableBytes() throws(SystemError) -> UInt64 {
        var status = statvfs()
        try check("ask for free disk space") { fstatvfs(descriptor, &status) }
        return Self.bytes(blocks: UInt64(status.f_bavail), size: UInt64(status.f_frsize))
    }

    /// Some network filesystems know no limit and name the largest number.
    static func bytes(blocks: UInt64, size: UInt64) -> UInt64 {
        let (bytes, overflow) = blocks.multipliedReportingOverflow(by: size)
        return overflow ? .max : bytes
    }
}
