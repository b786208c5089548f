import Base
import CLinux
import Glibc
import Posix

/// Output to terminals and pipes. Lines are written whole and unbuffered, so that a pipe's reader sees each at once.
///
/// Write errors of standard output are remembered: a command whose output was lost exits with an error (`Program`). A
/// closed pipe (`| head`) is no error. Thread-safe.
public enum Terminal {
    private struct State {
        var verbosity = Verbosity.normal
        var outputFailure: SystemError?
    }

    private static let state = Lock(State())

    static func configure(_ verbosity: Verbosity) { state.withLock { $0.verbosity = verbosity } }

    public static var verbosity: Verbosity { state.withLock { $0.verbosity } }

    /// The first write error of standard output.
    static var outputFailure: SystemError? { state.withLock { $0.outputFailure } }

    /// Prints a line to standard output.
    public static func print(_ line: String) { write(line + "\n", to: STDOUT_FILENO) }

    /// Prints a line that must be delivered before the command continues, such as the only copy of a key. Synchronises
    /// standard output if it is a file.
    /// - Throws: As write(2), EPIPE for a closed pipe; as fsync(2).
    public static func deliver(_ line: String) throws(SystemError) {
        try writeAll(line + "\n", to: STDOUT_FILENO)
        try check("write to standard output") {
            // A pipe or a terminal cannot be synchronised.
            fsync(STDOUT_FILENO) == -1 && ![EINVAL, EROFS, ENOTSUP].contains(errno) ? -1 : 0
        }
    }

    /// Prints one of many lines. Throws for a closed pipe, so that the command ends early with 0.
    /// - Throws: `ExitCode.success` for a closed pipe; `SystemError` for other write errors.
    public static func show(_ line: String) throws { try show(line, end: "\n") }

    /// - Parameter end: Text after the line.
    /// - Throws: As without `end`.
    public static func show(_ line: String, end: String) throws {
        do throws(SystemError) {
            try writeAll(line + end, to: STDOUT_FILENO)
        } catch {
            throw error.code == EPIPE ? ExitCode.success : error
        }
    }

    /// True if the reader of standard output has closed the pipe.
    public static var hasLostItsReader: Bool {
        var request = [pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)]
        return poll(&request, milliseconds: 0) > 0
            && request[0].revents & Int16(POLLERR | POLLHUP) != 0
    }

    /// Prints an error to standard error. Escapes control characters, which names may contain.
    public static func complain(_ line: String) {
        write(PrintableText.escaping(line) + "\n", to: STDERR_FILENO)
    }

    /// Prints a note to standard error, unless `--quiet` is given.
    public static func note(_ line: String) {
        if verbosity > .quiet { complain(line) }
    }

    /// Writes `text`, or as much as the descriptor accepts.
    public static func write(_ text: String, to descriptor: Int32) {
        do throws(SystemError) {
            try writeAll(text, to: descriptor)
        } catch {
            guard descriptor == STDOUT_FILENO, error.code != EPIPE else { return }
            state.withLock { $0.outputFailure = $0.outputFailure ?? error }
        }
    }

    private static func writeAll(_ text: String, to descriptor: Int32) throws(SystemError) {
        let shown = isTerminal(descriptor) && !isUnicode ? PrintableText.ascii(text) : text
        var bytes = Array(shown.utf8)[...]
        while !bytes.isEmpty {
            let count = try check("write to standard output") {
                bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress!, $0.count) }
            }
            bytes = bytes.dropFirst(count)
        }
    }

    public static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Returns true if the terminal understands control sequences.
    public static func canRedraw(_ descriptor: Int32) -> Bool {
        guard isTerminal(descriptor), let type = getenv("TERM") else { return false }
        return !["", "dumb"].contains(String(cString: type))
    }

    /// Returns true if the terminal shows block characters: a Unicode locale, and not `TERM=dumb`.
    public static func drawsBlocks(_ descriptor: Int32) -> Bool { isUnicode && canRedraw(descriptor) }

    /// True for a Unicode locale.
    static var isUnicode: Bool {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { (name: String) in
            getenv(name).map { String(cString: $0) }
        }
        guard let name = names.first(where: { !$0.isEmpty })?.lowercased() else { return false }
        return name.hasSuffix("utf-8") || name.hasSuffix("utf8") || name.contains("utf-8@")
    }

    /// Returns the rows of the terminal, else LINES, else 24; at least 4.
    public static func height(of descriptor: Int32 = STDOUT_FILENO) -> Int {
        var size = winsize()
        if ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 {
            return max(4, Int(size.ws_row))
        }
        if let text = getenv("LINES"), let rows = Int(String(cString: text)), rows > 0 {
            return max(4, min(rows, 1000))
        }
        return 24
    }

    /// Returns the columns of the terminal, else COLUMNS, else 80; at least 40.
    public static func width(of descriptor: Int32 = STDOUT_FILENO) -> Int {
        let columns = Int(chatfs_terminal_columns(descriptor))
        if columns > 0 { return max(40, columns) }
        if let text = getenv("COLUMNS"), let columns = Int(String(cString: text)), columns > 0 {
            return max(40, min(columns, 1000))
        }
        return 80
    }
}
