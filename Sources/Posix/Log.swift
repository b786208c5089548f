import Base
import Glibc

/// How serious a line is; the numbers are those of syslog and of systemd's `<6>` prefixes.
public enum LogLevel: Int, Comparable, Sendable {
    case error = 3
    case warning = 4
    case notice = 5
    case information = 6
    case debug = 7

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Lines on standard error. Keys, descriptions, message text and file names are for `debug` only.
public struct Log: Sendable {
    /// The part of the program that speaks, for example "relay".
    public let subject: String

    public init(_ subject: String) { self.subject = subject }

    private static let settings = Lock((level: LogLevel.notice, journal: false))

    /// Lines above `level` are dropped. Under systemd (`JOURNAL_STREAM` set) lines carry a prefix.
    public static func configure(level: LogLevel) {
        settings.withLock { $0 = (level, getenv("JOURNAL_STREAM") != nil) }
    }

    public func error(_ line: @autoclosure () -> String) { write(.error, line) }
    public func warning(_ line: @autoclosure () -> String) { write(.warning, line) }
    public func notice(_ line: @autoclosure () -> String) { write(.notice, line) }
    public func information(_ line: @autoclosure () -> String) { write(.information, line) }
    public func debug(_ line: @autoclosure () -> String) { write(.debug, line) }

    private func write(_ level: LogLevel, _ line: () -> String) {
        let (limit, journal) = Self.settings.withLock { $0 }
        guard level <= limit else { return }
        let text = (journal ? "<\(level.rawValue)>" : "chatfs \(subject): ") + line() + "\n"
        var bytes = Array(text.utf8)
        // One write per line: lines of several threads do not mix.
        _ = bytes.withUnsafeMutableBytes { Glibc.write(2, $0.baseAddress!, $0.count) }
    }
}
