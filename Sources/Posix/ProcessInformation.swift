import Glibc

/// What proc(5) says about processes. That one has ended meanwhile, is another user's, or that /proc is not mounted is
/// an answer to who looks around, not a failure: there is nothing then.
public enum ProcessInformation {
    /// A pseudo file has no size: of one that is longer than a page several reads give the whole.
    private static let page = 4096

    /// The first bytes of a file, at most `limit`; nil when it cannot be opened or read.
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

    /// The names in a folder.
    public static func names(in path: String) -> [String] {
        guard let folder = try? OpenFile(path, flags: O_RDONLY) else { return [] }
        return (try? PrivateFolder.names(in: folder)) ?? []
    }

    /// The kernel's id of this boot (`/proc/sys/kernel/random/boot_id`), another after each start of the machine: 36
    /// characters. Nil where that cannot be read.
    public static func boot() -> String? {
        let bytes = bytes(of: "/proc/sys/kernel/random/boot_id", limit: 36)
        return bytes.flatMap { $0.count == 36 ? String(decoding: $0, as: UTF8.self) : nil }
    }

    /// The numbers of all processes.
    public static func processes() -> [pid_t] { names(in: "/proc").compactMap { pid_t($0) } }
}
