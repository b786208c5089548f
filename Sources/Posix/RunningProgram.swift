import Base
import Glibc

/// Which program a process runs, as proc(5) tells. nil where there is no such process any more, it is another user's,
/// or cannot be seen from here. Threads are named by their numbers (gettid(2)).
public enum RunningProgram {
    /// Longest part of a command line that is looked at.
    private static let commandLineLimit = 16_384

    /// The path of the executable, as the process's own mount namespace has it. Links are resolved; of one that was
    /// replaced meanwhile, as by an upgrade, the path it had. One system call that waits for nobody.
    public static func executable(of thread: pid_t) -> String? {
        guard thread > 0 else { return nil }
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/\(thread)/exe", &buffer, buffer.count)
        guard count > 0 else { return nil }
        let path = String(decoding: buffer[..<count].lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let mark = " (deleted)"
        return path.endsWithBytes(of: mark)
            ? String(decoding: path.utf8.dropLast(mark.utf8.count), as: UTF8.self) : path
    }

    /// The words that it was started with, its own name first. Reads the memory of the process: may wait for as long
    /// as another thread of that changes what it has mapped.
    public static func arguments(of thread: pid_t) -> [String]? {
        guard thread > 0,
            let bytes = ProcessInformation.bytes(of: "/proc/\(thread)/cmdline", limit: commandLineLimit)
        else { return nil }
        return arguments(in: bytes)
    }

    /// Words that each end with a NUL; the last one may have been cut off.
    static func arguments(in bytes: [UInt8]) -> [String] {
        var words = bytes.split(separator: 0, omittingEmptySubsequences: false)
        if words.last?.isEmpty == true { words.removeLast() }
        return words.map { String(decoding: $0, as: UTF8.self) }
    }
}
