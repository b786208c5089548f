import Metrics

/// Counts requests by operation, without a lock. Low counts mean that the kernel answers from its caches.
final class RequestCounts: Sendable {
    /// Counts of FUSE_LOOKUP to FUSE_STATX of `linux/fuse.h`; the last element counts all others.
    private let counts = ShardedCounters(count: indices)

    func note(_ operation: UInt32) { counts.add(to: Self.index(of: operation)) }

    /// Total number of requests.
    var total: UInt64 { counts.values.reduce(0, &+) }

    /// Nonzero counts by operation name.
    var named: [String: UInt64] {
        var named: [String: UInt64] = [:]
        for (index, count) in counts.values.enumerated() where count > 0 {
            named[Self.name(at: index), default: 0] += count
        }
        return named
    }

    /// Number of operations, with one for all unknown ones.
    static var indices: Int { names.count + 1 }

    static func index(of operation: UInt32) -> Int { min(Int(operation), names.count) }

    static func name(at index: Int) -> String { index < names.count ? names[index] : "other" }

    private static let names = [
        "other", "lookup", "forget", "getattr", "setattr", "readlink", "symlink", "other", "mknod", "mkdir",
        "unlink", "rmdir", "rename", "link", "open", "read", "write", "statfs", "release", "other", "fsync",
        "setxattr", "getxattr", "listxattr", "removexattr", "flush", "init", "opendir", "readdir",
        "releasedir", "fsyncdir", "getlk", "setlk", "setlkw", "access", "create", "interrupt", "bmap",
        "destroy", "ioctl", "poll", "notify_reply", "batch_forget", "fallocate", "readdirplus", "rename2",
        "lseek", "copy_file_range", "setupmapping", "removemapping", "syncfs", "tmpfile", "statx",
    ]
}
