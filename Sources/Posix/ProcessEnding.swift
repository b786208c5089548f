import Glibc

/// What another process that waits in a system call is about to do: whether it is being killed, and whose thread
/// it is. Read from proc(5), for as long as it waits.
public enum ProcessEnding {
    /// Whether `thread` (a number as gettid(2) gives it) belongs to a process that a signal ends at this moment.
    /// False for one that lives, exits by itself, or cannot be seen. Never waits for that process.
    public static func isKilled(_ thread: pid_t) -> Bool {
        // Whoever is in execve(2) holds a lock that reading `stat` waits for, and may itself wait for who asks
        // here. One that ends has given back its memory before it closes its files: it is in no execve.
        guard text(of: thread, "statm")?.split(separator: " ").first == "0",
            let status = text(of: thread, "stat").flatMap(Status.init)
        else { return false }
        return status.isKilled
    }

    /// The process (thread group) of `thread`, nil when there is no such thread any more.
    public static func process(of thread: pid_t) -> pid_t? {
        text(of: thread, "status").flatMap { text in
            let line = text.split(separator: "\n").first { $0.hasPrefix("Tgid:") }
            return line?.split(separator: "\t").last.flatMap { pid_t($0) }
        }
    }

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
        }

        /// Ended by a signal: PF_EXITING and PF_SIGNALED. Threads of a program that exits by itself have both too,
        /// because its last act is to kill them; their code has no signal.
        var isKilled: Bool { flags & 0x404 == 0x404 && exitCode & 0x7F != 0 }
    }
}

extension Substring {
    fileprivate var trimmingNewline: Substring { hasSuffix("\n") ? dropLast() : self }
}
