import Base
import Glibc

/// The program of a process, from proc(5). Nil if the process is gone, belongs to another user, or is not visible.
/// Threads have numbers of gettid(2).
public enum RunningProgram {
    /// The maximum length of a command line that is read.
    private static let commandLineLimit = 16_384

    /// The path of the executable in the process's mount namespace, with links resolved. If it was replaced, for
    /// example by an upgrade, its former path. One system call that never waits.
    public static func executable(of thread: pid_t) -> String? {
        guard thread > 0, let path = SymbolicLink.target(of: "/proc/\(thread)/exe") else { return nil }
        let mark = " (deleted)"
        return path.endsWithBytes(of: mark)
            ? String(decoding: path.utf8.dropLast(mark.utf8.count), as: UTF8.self) : path
    }

    /// Its words, its own name first. Reads the process's memory, so it may wait while another thread changes its
    /// mappings.
    public static func arguments(of thread: pid_t) -> [String]? {
        guard thread > 0,
            let bytes = ProcessInformation.bytes(of: "/proc/\(thread)/cmdline", limit: commandLineLimit)
        else { return nil }
        return arguments(in: bytes)
    }

    /// Splits words that end with NUL; the last one may be truncated.
    static func arguments(in bytes: [UInt8]) -> [String] {
        var words = bytes.split(separator: 0, omittingEmptySubsequences: false)
        if words.last?.isEmpty == true { words.removeLast() }
        return words.map { String(decoding: $0, as: UTF8.self) }
    }
}
