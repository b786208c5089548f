import Base
import CLinux
import Glibc

/// The mounts that this process sees: /proc/self/mountinfo (proc(5)).
public enum MountTable {
    public struct Mount: Hashable, Sendable {
        /// Its number, which no other mount has while this one is there. The kernel gives it to the next one
        /// afterwards, and `device` alike.
        public let id: Int
        /// Its number among all mounts that ever were (`STATX_MNT_ID_UNIQUE`, Linux 6.8). nil: it was not asked for,
        /// or the kernel has none.
        public let serial: UInt64?
        /// Of its filesystem: `0:45`. Copies of the mount, in other mount namespaces too, have the same.
        public let device: String
        public let path: String
        /// For example `fuse.chatfs`.
        public let type: String
        public let source: String
        /// Who mounted a filesystem of FUSE (`user_id`); nil of any other.
        public let user: uid_t?

        init(
            id: Int, serial: UInt64? = nil, device: String, path: String, type: String, source: String,
            user: uid_t? = nil
        ) {
            self.user = user
            self.id = id
            self.serial = serial
            self.device = device
            self.path = path
            self.type = type
            self.source = source
        }
    }

    /// In the order of mounting: a later one lies on or below an earlier one.
    /// - Parameter process: whose mount namespace; nil: this one's.
    /// - Throws: where the table cannot be read, ENOENT for a process that is no more.
    public static func mounts(seenBy process: pid_t? = nil) throws(SystemError) -> [Mount] {
        let file = try OpenFile("/proc/\(process.map(String.init) ?? "self")/mountinfo", flags: O_RDONLY)
        var bytes: [UInt8] = []
        while true {
            // The kernel makes the text while it is read: its size is not known before.
            let part = try file.read(count: 65_536, at: UInt64(bytes.count))
            if part.isEmpty { break }
            bytes += part
        }
        return bytes.split(separator: UInt8(ascii: "\n")).compactMap(parse)
    }

    /// Those at `folder` and below it, the innermost and latest first: the order for unmounting.
    /// - Throws: as `mounts(seenBy:)`.
    public static func mounts(below folder: String) throws(SystemError) -> [Mount] {
        try mounts().filter { $0.path.path(below: folder) != nil }.reversed()
    }

    /// The mount that lies on `path`, an absolute one without symbolic links: of several the one that is met there.
    /// nil when nothing is mounted on it. Has its serial, where the kernel has one. Asks only the kernel, never the
    /// process behind the mount.
    /// - Throws: where `path` cannot be reached for another reason than ENOENT, or the table not be read.
    public static func mount(at path: String) throws(SystemError) -> Mount? {
        let place: OpenFile
        do throws(SystemError) {
            place = try OpenFile(path, flags: chatfs_o_path | chatfs_o_nofollow)
        } catch {
            if error.code == ENOENT { return nil }
            throw error
        }
        let details = try OpenFile("/proc/self/fdinfo/\(place.descriptor)", flags: O_RDONLY)
        let text = String(decoding: try details.read(count: 4096, at: 0), as: UTF8.self)
        let id = text.split(separator: "\n").lazy.compactMap(mountNumber).first
        guard let found = try mounts().first(where: { $0.id == id && $0.path.hasSameBytes(as: path) }) else {
            return nil
        }
        var serial: UInt64 = 0
        let isKnown = chatfs_mount_serial(place.descriptor, &serial) == 1
        return Mount(
            id: found.id, serial: isKnown ? serial : nil, device: found.device, path: found.path,
            type: found.type, source: found.source, user: found.user)
    }

    /// The root of the mount with these numbers, for calls that begin there (openat(2) and its like), if that mount is
    /// what is met at `path`. While it is open the mount is busy.
    public static func root(at path: String, id: Int, serial: UInt64?) -> OpenFile? {
        guard let place = try? OpenFile(path, flags: chatfs_o_path | chatfs_o_directory | chatfs_o_nofollow)
        else { return nil }
        var found: UInt64 = 0
        if let serial, chatfs_mount_serial(place.descriptor, &found) == 1 {
            return found == serial ? place : nil
        }
        return mountNumber(of: place) == id ? place : nil
    }

    private static func mountNumber(of place: OpenFile) -> Int? {
        let details = ProcessInformation.bytes(of: "/proc/self/fdinfo/\(place.descriptor)") ?? []
        return String(decoding: details, as: UTF8.self).split(separator: "\n").lazy.compactMap(mountNumber)
            .first
    }

    /// `mnt_id:\t36`, a line of /proc/self/fdinfo/N (proc(5)).
    private static func mountNumber(_ line: Substring) -> Int? {
        let parts = line.split(separator: "\t")
        return parts.count == 2 && parts[0] == "mnt_id:" ? Int(parts[1]) : nil
    }

    /// `36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/root rw`: fields up to " - " vary in number, the source may
    /// be empty.
    static func parse(_ line: ArraySlice<UInt8>) -> Mount? {
        let fields = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false).map(
            Array.init)
        guard fields.count > 4, let id = Int(String(decoding: fields[0], as: UTF8.self)),
            let dash = fields.dropFirst(6).firstIndex(of: [UInt8(ascii: "-")]), fields.count > dash + 2
        else { return nil }
        return Mount(
            id: id, device: String(decoding: fields[2], as: UTF8.self), path: unescaped(fields[4]),
            type: unescaped(fields[dash + 1]),
            source: unescaped(fields[dash + 2]), user: fields.dropFirst(dash + 3).first.flatMap(user)
        )
    }

    /// Of the options of the filesystem: `rw,user_id=1000,group_id=1000`.
    private static func user(in options: [UInt8]) -> uid_t? {
        let name = Array("user_id=".utf8)
        return options.split(separator: UInt8(ascii: ",")).first { $0.starts(with: name) }
            .flatMap { uid_t(String(decoding: $0.dropFirst(name.count), as: UTF8.self)) }
    }

    /// `\040` is a space: the kernel writes blanks, newlines and backslashes in octal.
    private static func unescaped(_ text: [UInt8]) -> String {
        var bytes: [UInt8] = []
        var rest = text[...]
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
