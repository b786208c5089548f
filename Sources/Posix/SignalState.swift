import Glibc

/// Which signals a thread blocks and its process catches, as `/proc/N/status` has them: bit n-1 is signal n. A value.
public struct SignalState: Hashable, Sendable {
    /// Held back from the thread.
    public var blocked: UInt64
    /// The process has a handler for them.
    public var caught: UInt64

    public init(blocked: UInt64 = 0, caught: UInt64 = 0) {
        self.blocked = blocked
        self.caught = caught
    }

    /// What ends a process that has no handler, from outside: HUP, INT, QUIT, USR1, USR2, ALRM, TERM. Not what reports
    /// an error of its own.
    private static let ending = [SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM].reduce(
        UInt64(0)
    ) {
        $0 | 1 << UInt64($1 - 1)
    }

    /// Whether the process has a handler for such a signal at all.
    public var catchesEndingSignal: Bool { caught & Self.ending != 0 }

    /// Whether the process, which was `before` when it worked, seems to be handling a signal that is to end it: the
    /// signal is blocked now, as it is while its handler runs, or its handler is gone (SA_RESETHAND).
    public func isHandlingSignal(since before: SignalState) -> Bool {
        let caught = before.caught & Self.ending
        let isReset = caught & ~self.caught != 0
        let isInHandler = caught & self.blocked & ~before.blocked != 0
        return isReset || isInHandler
    }
}

/// What `/proc/N/status` says of a thread.
public struct ThreadStatus: Hashable, Sendable {
    /// The process (thread group) that it belongs to.
    public let process: pid_t
    /// The name of the program, at most 15 bytes; programs may choose it.
    public let name: String
    public let signals: SignalState
    /// The process that started it, or has taken it over; 0 when that is not known.
    public let parent: pid_t

    /// Nil when there is no such thread, or it cannot be seen. Never waits for that process.
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
