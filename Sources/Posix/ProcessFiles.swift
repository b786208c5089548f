import CLinux
import Glibc

/// The regular files of other processes, from proc(5).
public enum ProcessFiles {
    /// Returns true if the process is reading a file, has reached this position, and has bytes of it left. Returns false
    /// if the process is not visible. Contacts no file server, so it never waits.
    public static func hasUnreadBytes(_ process: pid_t, after position: UInt64) -> Bool {
        guard process > 0 else { return false }
        return ProcessInformation.names(in: "/proc/\(process)/fdinfo").contains { descriptor in
            guard isReading(process, descriptor, at: position) else { return false }
            var size: UInt64 = 0
            return chatfs_known_size("/proc/\(process)/fd/\(descriptor)", &size) == 1 && size > position
        }
    }

    /// - Parameter descriptor: The name in `/proc/N/fdinfo`, whose lines are `pos:` with a decimal and `flags:` with an
    ///   octal number.
    private static func isReading(_ process: pid_t, _ descriptor: String, at position: UInt64) -> Bool {
        guard let bytes = ProcessInformation.bytes(of: "/proc/\(process)/fdinfo/\(descriptor)") else {
            return false
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        func value(_ name: String, radix: Int) -> UInt64? {
            lines.first { $0.hasPrefix(name) }.flatMap {
                UInt64($0.dropFirst(name.count).drop(while: \.isWhitespace), radix: radix)
            }
        }
        return value("pos:", radix: 10) == position
            && value("flags:", radix: 8).map { Int32(truncatingIfNeeded: $0) & O_ACCMODE == O_RDONLY } == true
    }
}
