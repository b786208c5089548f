import Glibc

/// Reads proc(5). A process that ended, belongs to another user, or is not visible gives nil or nothing, not an error.
public enum ProcessInformation {
    /// A pseudo file has no size, and one longer than a page needs several reads.
    private static let page = 4096

    /// Returns the first bytes of a file, at most `limit`, or nil if it is unreadable.
    public static func bytes(of path: String, limit: Int = 4096) -> [UInt8]? {
        guard let file = try? OpenFile(path, flags: O_RDONLY),
            var bytes = try? file.read(count: min(limit, page), at: 0)
        else { return nil }
        while limit > page, bytes.count < limit,
            let part = try? file.read(count: min(limit - bytes.count, 65_536), at: UInt64(bytes.count)),
            !part.isEmpty
        {
            bytes += part
        }
        return bytes
    }

    /// Returns the names in a folder.
    public static func names(in path: String) -> [String] {
        guard let folder = try? OpenFile(path, flags: O_RDONLY) else { return [] }
        return (try? PrivateFolder.names(in: folder)) ?? []
    }

    /// The kernel's boot id (`/proc/sys/kernel/random/boot_id`), different after each boot: 36 characters. Nil if it is
    /// unreadable.
    public static func boot() -> String? {
        let bytes = bytes(of: "/proc/sys/kernel/random/boot_id", limit: 36)
        return bytes.flatMap { $0.count == 36 ? String(decoding: $0, as: UTF8.self) : nil }
    }

    /// The name of a process, as ps(1) shows it.
    public static func name(of process: pid_t) -> String? {
        bytes(of: "/proc/\(process)/comm").map {
            String(decoding: $0.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        }
    }

    /// The numbers of all processes.
    public static func processes() -> [pid_t] { names(in: "/proc").compactMap { pid_t($0) } }
}
