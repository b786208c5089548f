import Base
import Glibc
import Posix
import Synchronization

/// Disables the terminal's echo while a secret is typed. The echo is restored however the process ends, except by
/// SIGKILL.
public enum SilentTerminal {
    /// The previous settings of the process's only terminal. Without a lock, for signal handlers.
    private nonisolated(unsafe) static let before = UnsafeMutablePointer<termios>.allocate(capacity: 1)
    private static let isSilent = Atomic(false)

    /// Signals that end a process. SIGTSTP (Ctrl-Z) is ignored meanwhile, because the shell would turn the echo on.
    private static let ending = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

    /// Runs `body`, which prompts and reads standard input. One call at a time. Blocks.
    /// - Returns: nil without a terminal, or if using it would stop this process.
    public static func whileSilent<Result>(_ body: () -> Result?) -> Result? {
        guard tcgetpgrp(STDIN_FILENO) == getpgrp(), tcgetattr(STDIN_FILENO, before) == 0 else { return nil }
        let handled =
            ending.map { ($0, handle($0, with: endProcess)) } + [(SIGTSTP, handle(SIGTSTP, with: SIG_IGN))]
        defer {
            for case (let number, var action?) in handled { sigaction(number, &action, nil) }
        }
        var silent = before.pointee
        silent.c_lflag &= ~tcflag_t(ECHO)
        isSilent.store(true, ordering: .releasing)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        defer {
            _ = restore()
            Terminal.write("\n", to: STDERR_FILENO)
        }
        return body()
    }

    /// Restores the echo. Returns true if it was off.
    static func restore() -> Bool {
        let wasSilent = isSilent.exchange(false, ordering: .acquiringAndReleasing)
        // At once and without a wait, which keeps input typed ahead.
        if wasSilent { tcsetattr(STDIN_FILENO, TCSANOW, before) }
        return wasSilent
    }

    /// Returns the previous action; nil if the signal is ignored and stays so.
    private static func handle(_ number: Int32, with handler: @escaping @convention(c) (Int32) -> Void)
        -> sigaction?
    {
        var earlier = sigaction()
        sigaction(number, nil, &earlier)
        guard unsafeBitCast(earlier.__sigaction_handler.sa_handler, to: Int.self) != 1 else { return nil }
        var action = sigaction()
        action.__sigaction_handler.sa_handler = handler
        sigaction(number, &action, nil)
        return earlier
    }

    /// A signal handler: calls only functions of signal-safety(7). The raised signal ends the process when the handler
    /// returns.
    private static let endProcess: @convention(c) (Int32) -> Void = { number in
        tcsetattr(STDIN_FILENO, TCSANOW, SilentTerminal.before)
        signal(number, SIG_DFL)
        raise(number)
    }
}
