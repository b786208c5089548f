import Glibc

/// What another process that waits in a system call is about to do: whether it is being killed, and whose thread
/// it is. Read from proc(5), for as long as it waits.
public enum ProcessEnding {
    /// Whether `thread` (a number as gettid(2) gives it) belongs to a process that a signal ends at this moment.
    /// False for one that lives, exits by itself, or cannot be seen. Never waits for that process.
    public static func isKilled(_ thread: pid_t) -> Bool {
        if case .signalled? = outcome(of: thread) { true } else { false }
    }

    /// How the process of `thread` is ending at this moment; nil for one that lives or cannot be seen. Never waits for
    /// that process.
    public static func outcome(of thread: pid_t) -> ProcessOutcome? {
        // Whoever is in execve(2) holds a lock that reading `stat` waits for, and may itself wait for who asks
        // here. One that ends has given back its memory before it closes its files: it is in no execve.
        guard text(of: thread, "statm")?.split(separator: " ").first == "0",
            let status = text(of: thread, "stat").flatMap(Status.init)
        else { return nil }
        return status.outcome
    }

    /// What wait(2) will say of a process that has ended and was not waited for yet; nil for any other.
    static func exitCode(ofEnded process: pid_t) -> Int32? {
        guard let status = text(of: process, "stat").flatMap(Status.init), status.isZombie else { return nil }
        return status.exitCode
    }

    /// The process (thread group) of `thread`, nil when there is no such thread any more.
    public static func process(of thread: pid_t) -> pid_t? { ThreadStatus(of: thread)?.process }

    private static func text(of thread: pid_t, _ name: String) -> String? {
        guard thread > 0, let bytes = ProcessInformation.bytes(of: "/proc/\(thread)/\(name)") else {
            return nil
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The parts of `/proc/N/stat` that tell how a thread ends.
    struct Status {
        /// `PF_…` of the kernel's sched.h.
        let flags: UInt32
        /// As wait(2) gives it.
        let exitCode: Int32
        /// It has ended, and is to be waited for.
        let isZombie: Bool

        init?(_ text: String) {
            // The name before it is the program's choice and may hold anything.
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
        /// because its last act is to kill them; their code has no signal.
        var isKilled: Bool { flags & 0x404 == 0x404 && exitCode & 0x7F != 0 }

        /// Nil for one that does not end.
        var outcome: ProcessOutcome? {
            if isKilled { return ProcessOutcome(waitStatus: exitCode) }
            // A signal without PF_SIGNALED is not one that ended it.
            return flags & 0x4 == 0x4 ? .exited(exitCode >> 8 & 0xFF) : nil
        }
    }
}

extension Substring {
    fileprivate var trimmingNewline: Substring { hasSuffix("\n") ? dropLast() : self }
}
