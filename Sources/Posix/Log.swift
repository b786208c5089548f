import Base
import Glibc
import Synchronization

/// Lines of the program's log, by default on standard error (`LogDestination`). Keys, descriptions, message text and
/// file names are for `debug` only.
///
/// Peers and relays cause many lines. So lines above `debug` are dropped if their subject wrote the same one within the
/// last minute, or 200 different ones. The next line states the number of dropped lines.
///
/// A line is a short event and its facts: `file received: chat=@4 bytes=300000`.
public struct Log: Sendable {
    /// The part of the program, for example "relay".
    public let subject: String

    public init(_ subject: String) { self.subject = subject }

    private struct State {
        var destination: LogDestination = .standardError(prefixed: false)
        /// The recent lines of each subject.
        var recent: [String: RepetitionLimit<String>] = [:]
    }

    private static let state = Lock(State())
    /// The number of the highest written level.
    private static let threshold = Atomic(LogLevel.notice.rawValue)
    private static let start = ContinuousClock.now

    /// Lines above `level` are dropped. Under systemd (`JOURNAL_STREAM`) lines have a prefix.
    public static func configure(level: LogLevel) {
        threshold.store(level.rawValue, ordering: .relaxed)
        send(to: .standardError(prefixed: getenv("JOURNAL_STREAM") != nil))
    }

    /// Sets the destination of further lines.
    public static func send(to destination: LogDestination) {
        state.withLock { $0.destination = destination }
    }

    /// Returns true if lines of this level are written. Takes no lock.
    public static func isOn(_ level: LogLevel) -> Bool {
        level.rawValue <= threshold.load(ordering: .relaxed)
    }

    /// Number of the kernel's request for which this thread or task works. Set only while `debug` is on, and then part
    /// of each line.
    @TaskLocal public static var request: UInt64?

    public func error(_ line: @autoclosure () -> String) { write(.error, line) }
    public func warning(_ line: @autoclosure () -> String) { write(.warning, line) }
    public func notice(_ line: @autoclosure () -> String) { write(.notice, line) }
    public func information(_ line: @autoclosure () -> String) { write(.info, line) }
    public func debug(_ line: @autoclosure () -> String) { write(.debug, line) }

    private func write(_ level: LogLevel, _ line: () -> String) {
        guard Self.isOn(level) else { return }
        var text = line()
        let now = ContinuousClock.now - Self.start
        let (destination, verdict) = Self.state.withLock { state in
            let verdict =
                level < .debug
                ? state.recent[subject, default: RepetitionLimit(maxCount: 200)].verdict(on: text, now: now)
                : .say(keptBack: 0)
            return (state.destination, verdict)
        }
        guard case .say(let dropped) = verdict else { return }
        if dropped > 0 { text += " (and \(dropped) more before)" }
        if let request = Self.request { text += " request=\(request)" }
        destination.write(text, subject: subject, level: level)
    }
}
