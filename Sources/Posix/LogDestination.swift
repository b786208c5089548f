import Base
import CLinux
import Glibc

/// The destination of log lines. Writes each line with one system call, so lines of several threads do not mix.
/// Failures to write are ignored.
public enum LogDestination: Sendable {
    /// - Parameter prefixed: Whether lines start with systemd's `<6>`, the level for its journal.
    case standardError(prefixed: Bool)
    /// systemd's journal, in its native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL): a datagram of
    /// `NAME=value` lines.
    case journal(JournalSocket)
    /// With the time in front.
    case file(LogFile)

    /// For a process without a terminal: the journal if there is one, otherwise a file.
    /// - Parameter path: The path of the file; its folder must exist.
    /// - Throws: If there is no journal and the file cannot be opened; ELOOP for a symbolic link.
    public static func detached(file path: String) throws(SystemError) -> LogDestination {
        if let journal = JournalSocket() { return .journal(journal) }
        return .file(try LogFile(path))
    }

    /// Escapes control characters and marks of text direction.
    func write(_ line: String, subject: String, level: LogLevel) {
        let (line, subject) = (Self.escaped(line), Self.escaped(subject))
        switch self {
        case .standardError(let prefixed):
            let start = prefixed ? "<\(level.rawValue)>" : "chatfs \(subject): "
            var bytes = Array((start + line + "\n").utf8)
            _ = bytes.withUnsafeMutableBytes { Glibc.write(STDERR_FILENO, $0.baseAddress!, $0.count) }
        case .journal(let journal):
            journal.send(line, subject: subject, level: level)
        case .file(let file):
            file.append("\(LogFile.time()) \(level) \(subject): \(line)\n")
        }
    }

    private static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        return text.unicodeScalars.map { isControl($0) ? QuotedText.escape($0) : String($0) }.joined()
    }

    /// In a terminal, such a character changes more than its own place.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
    }
}

/// A datagram socket to the journal of systemd.
public final class JournalSocket: Sendable {
    private static let path = "/run/systemd/journal/socket"
    private let socket: OpenFile

    /// Returns nil if no journal listens.
    init?(path: String = JournalSocket.path) {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        socket = OpenFile(adopting: descriptor)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array(path.utf8CString)
        guard name.count <= MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { target in
            name.withUnsafeBytes { target.copyMemory(from: $0) }
        }
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard connected == 0 else { return nil }
    }

    /// - Parameter line: Without line breaks, which would start other fields.
    func send(_ line: String, subject: String, level: LogLevel) {
        let fields = [
            "MESSAGE=\(subject): \(line)", "PRIORITY=\(level.rawValue)", "SYSLOG_IDENTIFIER=chatfs",
            "CHATFS_SUBJECT=\(subject)",
        ]
        let bytes = Array((fields.joined(separator: "\n") + "\n").utf8)
        // Never wait for the journal: a lost line is better than a blocked mount.
        _ = bytes.withUnsafeBytes {
            Glibc.send(socket.descriptor, $0.baseAddress!, $0.count, Int32(MSG_DONTWAIT))
        }
    }
}

/// A log file of limited size: beyond `limit` bytes it becomes `PATH.1`, replacing an older one.
public final class LogFile: Sendable {
    private static let limit = 1 << 20

    private struct State {
        var file: OpenFile
        var written: Int
        /// The file is being rotated by another thread: lines go to it meanwhile.
        var isRotating = false
        var hasStandardError = false
    }

    private let path: String
    private let state: Lock<State>

    /// Opens or creates the file with mode 0600 for appending.
    init(_ path: String) throws(SystemError) {
        self.path = path
        let file = try Self.open(path)
        state = Lock(State(file: file, written: Int(try file.size())))
    }

    private static func open(_ path: String) throws(SystemError) -> OpenFile {
        try OpenFile(path, flags: O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, mode: 0o600)
    }

    /// Redirects other output on standard error to this file and its successors.
    /// - Throws: As dup2(2).
    public func takeStandardError() throws(SystemError) {
        let file = state.withLock { state in
            state.hasStandardError = true
            return state.file
        }
        try check("send errors to the log file") { dup2(file.descriptor, STDERR_FILENO) }
    }

    func append(_ line: String) {
        let bytes = Array(line.utf8)
        let (file, isFull) = state.withLock { state in
            state.written += bytes.count
            guard state.written > Self.limit, !state.isRotating else { return (state.file, false) }
            state.isRotating = true
            return (state.file, true)
        }
        let place = isFull ? rotate(for: bytes.count) : file
        _ = bytes.withUnsafeBytes { Glibc.write(place.descriptor, $0.baseAddress!, $0.count) }
    }

    /// Returns the file for a line of this length: a new one, or the old one if rotation fails, because an oversized
    /// log is better than a lost line.
    private func rotate(for count: Int) -> OpenFile {
        let next = rename(path, path + ".1") == 0 ? try? Self.open(path) : nil
        let (file, hasStandardError) = state.withLock { state in
            state.isRotating = false
            if let next { (state.file, state.written) = (next, count) }
            return (state.file, state.hasStandardError)
        }
        if hasStandardError { dup2(file.descriptor, STDERR_FILENO) }
        return file
    }

    /// The current time in UTC: `2026-01-31T12:00:00Z`.
    static func time(_ seconds: time_t = Glibc.time(nil)) -> String {
        var seconds = seconds
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))T"
            + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))Z"
    }
}
