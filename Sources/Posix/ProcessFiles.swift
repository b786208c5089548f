import CLinux
import Glibc

/// The regular files of other processes, from proc(5).
public enum ProcessFiles {
    /// The progress of a process through a file that it reads.
    public enum Reading: Sendable { case hasBytesLeft, isComplete }

    /// Returns how far the process has read the file in which it has reached `position`; `hasBytesLeft` if any of several
    /// has bytes left. Returns nil if there is none, or the process is not visible. Standard input and output do not
    /// count. Contacts no file server, so it never waits.
    public static func reading(of process: pid_t, at position: UInt64) -> Reading? {
        guard process > 0 else { return nil }
        var found: Reading?
        for descriptor in ProcessInformation.names(in: "/proc/\(process)/fdinfo") {
            guard Int32(descriptor) ?? 0 > STDERR_FILENO, isReading(process, descriptor, at: position) else {
                continue
            }
            var size: UInt64 = 0
            guard chatfs_known_size("/proc/\(process)/fd/\(descriptor)", &size) == 1 else { continue }
            if size > position { return .hasBytesLeft }
            if size == position { found = .isComplete }
        }
        return found
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
