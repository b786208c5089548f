import Glibc

/// Whether another process, which waits in a system call, is being killed, and the process of a thread. Read from
/// proc(5), so valid only during that wait.
public enum ProcessEnding {
    /// Returns whether a signal is ending the process of `thread` (from gettid(2)). False if it lives, exits by itself,
    /// or is not visible. Never waits for that process.
    public static func isKilled(_ thread: pid_t) -> Bool {
        if case .signalled? = outcome(of: thread) { true } else { false }
    }

    /// Returns the current end of the process of `thread`, or nil if it lives or is not visible. Never waits for that
    /// process.
    public static func outcome(of thread: pid_t) -> ProcessOutcome? {
        // A process in execve(2) holds a lock that reading `stat` needs, and may itself wait for the caller. An ending
        // process has freed its memory before it closes its files, so it is not in execve.
        guard text(of: thread, "statm")?.split(separator: " ").first == "0",
            let status = text(of: thread, "stat").flatMap(Status.init)
        else { return nil }
        return status.outcome
    }

    /// Returns the wait(2) status of an ended, unreaped process; nil for others.
    static func exitCode(ofEnded process: pid_t) -> Int32? {
        guard let status = text(of: process, "stat").flatMap(Status.init), status.isZombie else { return nil }
        return status.exitCode
    }

    /// Returns the process (thread group) of `thread`, or nil if the thread is gone.
    public static func process(of thread: pid_t) -> pid_t? { ThreadStatus(of: thread)?.process }

    private static func text(of thread: pid_t, _ name: String) -> String? {
        guard thread > 0, let bytes = ProcessInformation.bytes(of: "/proc/\(thread)/\(name)") else {
            return nil
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The fields of `/proc/N/stat` about the end of a thread.
    struct Status {
        /// `PF_…` of the kernel's sched.h.
        let flags: UInt32
        /// The wait(2) status.
        let exitCode: Int32
        /// The process has ended and is not reaped.
        let isZombie: Bool

        init?(_ text: String) {
            // The name before it is chosen by the program and may contain any character.
            guard let name = text.lastIndex(of: ")") else { return nil }
            let fields = text[name...].split(separator: " ").dropFirst()
            let (flags, code) = (9 - 3, 52 - 3)
            guard fields.count > code, let flags = UInt32(fields[fields.startIndex + flags]),
                let exitCode = Int32(fields[fields.startIndex + code].trimmingNewline)
            else { return nil }
            self.flags = flags
            self.exitCode = exitCode
            isZombie = fields.first == "Z" || fields.first == "X"
        }

        /// Ended by a signal: PF_EXITING and PF_SIGNALED. Threads of a program that exits by itself have both too,
        /// because its exit kills them; their code has no signal.
        var isKilled: Bool { flags & 0x404 == 0x404 && exitCode & 0x7F != 0 }

        /// Returns nil for a process that does not end.
        var outcome: ProcessOutcome? {
            if isKilled { return ProcessOutcome(waitStatus: exitCode) }
            // Without PF_SIGNALED, the signal did not end it.
            return flags & 0x4 == 0x4 ? .exited(exitCode >> 8 & 0xFF) : nil
        }
    }
}

extension Substring {
    fileprivate var trimmingNewline: Substring { hasSuffix("\n") ? dropLast() : self }
}
