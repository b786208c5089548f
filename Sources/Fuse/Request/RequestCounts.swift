import Base

/// Counts requests by operation. Low counts mean that the kernel answers from its caches.
final class RequestCounts: Sendable {
    /// Counts of FUSE_LOOKUP to FUSE_STATX of `linux/fuse.h`; the last element counts all others.
    private let counts = Lock([UInt64](repeating: 0, count: names.count + 1))

    func note(_ operation: UInt32) {
        counts.withLock { $0[min(Int(operation), Self.names.count)] += 1 }
    }

    /// Total number of requests.
    var total: UInt64 { counts.withLock { $0.reduce(0, +) } }

    /// Nonzero counts by operation name.
    var named: [String: UInt64] {
        let counts = counts.withLock { $0 }
        var named: [String: UInt64] = [:]
        for (operation, count) in counts.enumerated() where count > 0 {
            named[operation < Self.names.count ? Self.names[operation] : "other", default: 0] += count
        }
        return named
    }

    private static let names = [
        "other", "lookup", "forget", "getattr", "setattr", "readlink", "symlink", "other", "mknod", "mkdir",
        "unlink", "rmdir", "rename", "link", "open", "read", "write", "statfs", "release", "other", "fsync",
        "setxattr", "getxattr", "listxattr", "removexattr", "flush", "init", "opendir", "readdir",
        "releasedir", "fsyncdir", "getlk", "setlk", "setlkw", "access", "create", "interrupt", "bmap",
        "destroy", "ioctl", "poll", "notify_reply", "batch_forget", "fallocate", "readdirplus", "rename2",
        "lseek", "copy_file_range", "setupmapping", "removemapping", "syncfs", "tmpfile", "statx",
    ]
}
