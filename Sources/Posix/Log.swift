import Base
import Glibc

/// Lines of the program's log, by default on standard error (`LogDestination`). Keys, descriptions, message text and
/// file names are for `debug` only.
///
/// Peers and relays cause many lines. So lines above `debug` are dropped if their subject wrote the same one within the
/// last minute, or 200 different ones. The next line states the number of dropped lines.
public struct Log: Sendable {
    /// The part of the program, for example "relay".
    public let subject: String

    public init(_ subject: String) { self.subject = subject }

    private struct Settings {
        var level = LogLevel.notice
        var destination: LogDestination = .standardError(prefixed: false)
    }

    private static let settings = Lock(Settings())
    private static let start = ContinuousClock.now
    /// The recent lines of each subject.
    private static let recent = Lock<[String: RepetitionLimit<String>]>([:])

    /// Lines above `level` are dropped. Under systemd (`JOURNAL_STREAM`) lines have a prefix.
    public static func configure(level: LogLevel) {
        settings.withLock {
            $0 = Settings(
                level: level, destination: .standardError(prefixed: getenv("JOURNAL_STREAM") != nil))
        }
    }

    /// Sets the destination of further lines.
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
        var text = line()
        if level < .debug {
            guard case .say(let dropped) = verdict(on: text) else { return }
            if dropped > 0 { text += " (and \(dropped) more before)" }
        }
        settings.destination.write(text, subject: subject, level: level)
    }

    private func verdict(on text: String) -> RepetitionLimit<String>.Verdict {
        let now = ContinuousClock.now - Self.start
        return Self.recent.withLock { recent in
            recent[subject, default: RepetitionLimit(maxCount: 200)].verdict(on: text, now: now)
        }
    }
}
