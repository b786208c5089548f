import Base
import CLinux
import Glibc

/// The mounts visible to this process: /proc/self/mountinfo (proc(5)).
public enum MountTable {
    public struct Mount: Hashable, Sendable {
        /// The mount's number, unique among current mounts. The kernel reuses it, and `device` too.
        public let id: Int
        /// The number among all mounts since boot (`STATX_MNT_ID_UNIQUE`, Linux 6.8). Nil if not requested or
        /// unsupported.
        public private(set) var serial: UInt64?
        /// The device of its filesystem: `0:45`. Copies of the mount in any namespace have the same.
        public let device: String
        public let path: String
        /// For example `fuse.chatfs`.
        public let type: String
        public let source: String
        /// The user of a FUSE mount (`user_id`), or nil for other filesystems.
        public private(set) var user: uid_t?

        /// Whether a file with this status is on the mounted filesystem (makedev(3)).
        public func holds(_ status: stat) -> Bool {
            let number = UInt64(status.st_dev)
            let major = number >> 8 & 0xfff | number >> 32 & 0xffff_f000
            let minor = number & 0xff | number >> 12 & 0xffff_ff00
            return device == "\(major):\(minor)"
        }
    }

    /// In the order of mounting: a later mount lies on or below an earlier one.
    /// - Parameter process: The process whose mount namespace is read, or nil for this one.
    /// - Throws: If the table is unreadable; ENOENT for a missing process.
    public static func mounts(seenBy process: pid_t? = nil) throws(SystemError) -> [Mount] {
        let file = try OpenFile("/proc/\(process.map(String.init) ?? "self")/mountinfo", flags: O_RDONLY)
        var bytes: [UInt8] = []
        while true {
            // The kernel creates the text during the read, so its size is unknown beforehand.
            let part = try file.read(count: 65_536, at: UInt64(bytes.count))
            if part.isEmpty { break }
            bytes += part
        }
        return bytes.split(separator: UInt8(ascii: "\n")).compactMap(parse)
    }

    /// Returns the mounts at `folder` and below, innermost and latest first: the order of unmounting.
    /// - Throws: As `mounts(seenBy:)`.
    public static func mounts(below folder: String) throws(SystemError) -> [Mount] {
        try mounts().filter { $0.path.path(below: folder) != nil }.reversed()
    }

    /// Returns the topmost mount on `path`, which must be absolute without symbolic links, or nil. Has its serial
    /// number if the kernel provides one. Never contacts the process behind the mount.
    /// - Throws: If `path` cannot be reached for a reason other than ENOENT, or the table is unreadable.
    public static func mount(at path: String) throws(SystemError) -> Mount? {
        guard let place = try OpenFile.existing(path, flags: chatfs_o_path | chatfs_o_nofollow) else {
            return nil
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

    /// Opens the root of the mount with these numbers for openat(2) and similar calls, if it is the topmost one at
    /// `path`. The mount is busy while the file is open.
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

    /// `36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/root rw`: the number of fields before " - " varies, and the
    /// source may be empty.
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

    /// From the filesystem's options: `rw,user_id=1000,group_id=1000`.
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
