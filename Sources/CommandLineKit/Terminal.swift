import Base
import CLinux
import Glibc
import Posix

/// Output for people and pipes: whole lines, written at once, nothing kept back in a buffer, so that
/// a program at the other end of a pipe sees each line when it is said.
public enum Terminal {
    /// One line on standard output. A reader that has gone is no error.
    public static func print(_ line: String) { write(line + "\n", to: STDOUT_FILENO) }

    /// One line on standard error.
    public static func complain(_ line: String) { write(line + "\n", to: STDERR_FILENO) }

    /// Writes all of `text`, or as much as the other end takes.
    public static func write(_ text: String, to descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = try? check("write to the terminal") {
                bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress!, $0.count) }
            }
            guard let count else { return }
            bytes = bytes.dropFirst(count)
        }
    }

    public static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

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
