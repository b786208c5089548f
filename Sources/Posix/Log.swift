import Base
import Glibc

/// Lines of the program's log, on standard error unless told otherwise (`LogDestination`). Keys,
/// descriptions, message text and file names are for `debug` only.
public struct Log: Sendable {
    /// The part of the program that speaks, for example "relay".
    public let subject: String

    public init(_ subject: String) { self.subject = subject }

    private struct Settings {
        var level = LogLevel.notice
        var destination: LogDestination = .standardError(prefixed: false)
    }

    private static let settings = Lock(Settings())

    /// Lines above `level` are dropped. Under systemd (`JOURNAL_STREAM` set) lines carry a prefix.
    public static func configure(level: LogLevel) {
        settings.withLock {
            $0 = Settings(
                level: level, destination: .standardError(prefixed: getenv("JOURNAL_STREAM") != nil))
        }
    }

    /// Where lines go from now on.
    public static func send(to destination: LogDestination) {
        settings.withLock { $0.destination = destination }
    }

    public func error(_ line: @autoclosure () -> String) { write(.error, line) }
    public func warning(_ line: @autoclosure () -> String) { write(.warning, line) }
    public func notice(_ line: @autoclosure () -> String) { write(.notice, line) }
    public func information(_ line: @autoclosure () -> String) { write(.information, line) }
    public func debug(_ line: @autoclosure () -> String) { write(.debug, line) }

    private func write(_ level: LogLevel, _ line: () -> String) {
        let settings = Self.settings.withLock { $0 }
        guard level <= settings.level else { return }
        settings.destination.write(line(), subject: subject, level: level)
    }
}
