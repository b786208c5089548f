import Glibc

/// The blocked signals of a thread and the caught ones of its process, from `/proc/N/status`: bit n-1 is signal n.
public struct SignalState: Hashable, Sendable {
    /// Blocked in the thread.
    public var blocked: UInt64 = 0
    /// Caught by the process.
    public var caught: UInt64 = 0

    /// The signals from outside that end a process without a handler: HUP, INT, QUIT, USR1, USR2, ALRM, TERM. Not those
    /// for its own errors.
    private static let ending = [SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM].reduce(
        UInt64(0)
    ) {
        $0 | 1 << UInt64($1 - 1)
    }

    /// Whether the process catches one of these signals.
    public var catchesEndingSignal: Bool { caught & Self.ending != 0 }

    /// Returns whether the process seems to handle one of these signals. Compared with `before`, a state at work, the
    /// signal is blocked now, as during its handler, or its handler is gone (SA_RESETHAND).
    public func isHandlingSignal(since before: SignalState) -> Bool {
        let caught = before.caught & Self.ending
        let isReset = caught & ~self.caught != 0
        let isInHandler = caught & self.blocked & ~before.blocked != 0
        return isReset || isInHandler
    }
}

/// The state of a thread from `/proc/N/status`.
public struct ThreadStatus: Hashable, Sendable {
    /// Its process (thread group).
    public let process: pid_t
    /// The program's name, at most 15 bytes, chosen by the program.
    public let name: String
    public let signals: SignalState
    /// Its parent process, or 0 if unknown.
    public let parent: pid_t

    /// Nil if the thread is gone or not visible. Never waits for that process.
    public init?(of thread: pid_t) {
        guard thread > 0, let bytes = ProcessInformation.bytes(of: "/proc/\(thread)/status") else {
            return nil
        }
        self.init(String(decoding: bytes, as: UTF8.self))
    }

    init?(_ text: String) {
        var values: [Substring: Substring] = [:]
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let value = line[line.index(after: colon)...].drop { $0 == UInt8(ascii: "\t") }
            values[Substring(line[..<colon])] = Substring(value)
        }
        guard let process = values["Tgid"].flatMap({ pid_t($0) }) else { return nil }
        self.process = process
        name = String(values["Name"] ?? "")
        parent = values["PPid"].flatMap { pid_t($0) } ?? 0
        signals = SignalState(blocked: Self.mask(values["SigBlk"]), caught: Self.mask(values["SigCgt"]))
    }

    private static func mask(_ text: Substring?) -> UInt64 { text.flatMap { UInt64($0, radix: 16) } ?? 0 }
}
