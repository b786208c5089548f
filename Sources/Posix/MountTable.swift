import CLinux
import Glibc

/// The mounts that this process sees: /proc/self/mountinfo (proc(5)).
public enum MountTable {
    public struct Mount: Hashable, Sendable {
        public let path: String
        /// For example `fuse.chatfs`.
        public let type: String
        public let source: String
    }

    /// In the order of mounting: a later one lies on or below an earlier one.
    public static func mounts() throws(SystemError) -> [Mount] {
        let file = try OpenFile("/proc/self/mountinfo", flags: O_RDONLY)
        var bytes: [UInt8] = []
        while true {
            // The kernel makes the text while it is read: its size is not known before.
            let part = try file.read(count: 65_536, at: UInt64(bytes.count))
            if part.isEmpty { break }
            bytes += part
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap(parse)
    }

    /// Those at `folder` and below it, the innermost and latest first: the order for unmounting.
    public static func mounts(below folder: String) throws(SystemError) -> [Mount] {
        try mounts().filter { $0.path == folder || $0.path.hasPrefix(folder + "/") }.reversed()
    }

    /// `36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/root rw`: fields up to " - " vary in number.
    static func parse(_ line: Substring) -> Mount? {
        let fields = line.split(separator: " ")
        guard fields.count > 4, let dash = fields.dropFirst(6).firstIndex(of: "-"), fields.count > dash + 2
        else { return nil }
        return Mount(
            path: unescaped(fields[4]), type: unescaped(fields[dash + 1]), source: unescaped(fields[dash + 2])
        )
    }

    /// `\040` is a space: the kernel writes blanks, newlines and backslashes in octal.
    private static func unescaped(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3).compactMap { (0x30...0x37).contains($0) ? Int($0 - 0x30) : nil }
            if byte == UInt8(ascii: "\\"), digits.count == 3 {
                bytes.append(UInt8(truncatingIfNeeded: digits[0] * 64 + digits[1] * 8 + digits[2]))
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension MountTable {
    /// Takes the FUSE mount at `path` away at once, whoever uses it and whether its daemon lives or
    /// not: umount2(2) with MNT_DETACH, for users through fusermount3. Never waits for the daemon.
    public static func detach(_ path: String) async throws(SystemError) {
        let refusal: Int32? = await ThreadPool.shared.run {
            chatfs_unmount(path, 1) == 0 ? nil : errno
        }
        guard let refusal else { return }
        guard refusal == EPERM else { throw SystemError(code: refusal, operation: "unmount a folder") }
        var settings = ChildProcess.Settings("/usr/bin/fusermount3", ["-u", "-z", "-q", path])
        settings.output = .null
        settings.errors = .null
        let child = try await ChildProcess.start(settings)
        guard await child.ending(within: .seconds(10)) == .code(0) else {
            throw SystemError(code: EPERM, operation: "unmount a folder")
        }
    }
}
