import Base
import CLinux
import Glibc
import Posix

/// Output for people and pipes: whole lines, written at once, nothing kept back in a buffer, so that
/// a program at the other end of a pipe sees each line when it is said.
///
/// What standard output did not take is remembered: a command that did its work and could not say so ends
/// with an error (`Program`). A reader that has gone (`| head`) is no error. Any thread.
public enum Terminal {
    private struct State {
        var verbosity = Verbosity.normal
        var outputFailure: SystemError?
    }

    private static let state = Lock(State())

    static func configure(_ verbosity: Verbosity) { state.withLock { $0.verbosity = verbosity } }

    public static var verbosity: Verbosity { state.withLock { $0.verbosity } }

    /// Why standard output did not take all that was printed.
    static var outputFailure: SystemError? { state.withLock { $0.outputFailure } }

    /// One line on standard output.
    public static func print(_ line: String) { write(line + "\n", to: STDOUT_FILENO) }

    /// One line on standard output that somebody must have before the command goes on, such as the only copy
    /// of a key: taken as a whole, on the disk where standard output is a file.
    /// - Throws: as write(2), EPIPE when nobody reads any more; as fsync(2).
    public static func deliver(_ line: String) throws(SystemError) {
        try writeAll(line + "\n", to: STDOUT_FILENO)
        try check("write to standard output") {
            // A pipe or a terminal cannot be synchronised.
            fsync(STDOUT_FILENO) == -1 && ![EINVAL, EROFS, ENOTSUP].contains(errno) ? -1 : 0
        }
    }

    /// One of many lines on standard output, for a command that has nothing to do when nobody reads them: it ends, with 0
    /// as everywhere when a reader has gone.
    /// - Throws: `ExitCode.success` when nobody reads any more; `SystemError` where it cannot be written.
    public static func show(_ line: String) throws { try show(line, end: "\n") }

    /// - Parameter end: behind the line.
    /// - Throws: as without an end.
    public static func show(_ line: String, end: String) throws {
        do throws(SystemError) {
            try writeAll(line + end, to: STDOUT_FILENO)
        } catch {
            throw error.code == EPIPE ? ExitCode.success : error
        }
    }

    /// Whether nobody reads what goes to standard output any more, for a command that waits for something to print.
    public static var hasLostItsReader: Bool {
        var request = [pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)]
        return poll(&request, milliseconds: 0) > 0
            && request[0].revents & Int16(POLLERR | POLLHUP) != 0
    }

    /// One line on standard error: something went wrong. Control characters, which names may have, are shown
    /// escaped.
    public static func complain(_ line: String) {
        write(PrintableText.escaping(line) + "\n", to: STDERR_FILENO)
    }

    /// One line on standard error for who watches; not with `--quiet`.
    public static func note(_ line: String) {
        if verbosity > .quiet { complain(line) }
    }

    /// Writes all of `text`, or as much as the other end takes.
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

    /// Whether a line on it can be drawn again: a terminal that understands control sequences.
    public static func canRedraw(_ descriptor: Int32) -> Bool {
        guard isTerminal(descriptor), let type = getenv("TERM") else { return false }
        return !["", "dumb"].contains(String(cString: type))
    }

    /// Whether it shows block characters: its locale has more than ASCII, and it is no `TERM=dumb`.
    public static func drawsBlocks(_ descriptor: Int32) -> Bool { isUnicode && canRedraw(descriptor) }

    /// Whether the user's locale has more than ASCII.
    static var isUnicode: Bool {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { (name: String) in
            getenv(name).map { String(cString: $0) }
        }
        guard let name = names.first(where: { !$0.isEmpty })?.lowercased() else { return false }
        return name.hasSuffix("utf-8") || name.hasSuffix("utf8") || name.contains("utf-8@")
    }

    /// Rows of the terminal, else of LINES, else 24; at least 4.
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

    /// Columns for text: those of the terminal, else of COLUMNS, else 80; at least 40.
    public static func width(of descriptor: Int32 = STDOUT_FILENO) -> Int {
        let columns = Int(chatfs_terminal_columns(descriptor))
        if columns > 0 { return max(40, columns) }
        if let text = getenv("COLUMNS"), let columns = Int(String(cString: text)), columns > 0 {
            return max(40, min(columns, 1000))
        }
        return 80
    }
}
