import Base
import Glibc
import Posix

/// The terminal while its user types what nobody is to see: nothing is shown of it, and however the process ends
/// meanwhile, but by SIGKILL, the terminal shows again what is typed.
public enum SilentTerminal {
    /// How the terminal was. Of the process's only terminal, for the handlers, which may take no lock.
    private nonisolated(unsafe) static let before = UnsafeMutablePointer<termios>.allocate(capacity: 1)
    private static let isSilent = Lock(false)

    /// Signals that end a process; one that stops it (Ctrl-Z) is ignored meanwhile, as the shell would show what is
    /// typed when it goes on.
    private static let ending = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

    /// Runs `body`, which asks and reads standard input. One at a time. Blocks.
    /// - Returns: nil without a terminal, or where this process would be stopped when it used it.
    public static func whileSilent<Result>(_ body: () -> Result?) -> Result? {
        guard tcgetpgrp(STDIN_FILENO) == getpgrp(), tcgetattr(STDIN_FILENO, before) == 0 else { return nil }
        let handled =
            ending.map { ($0, handle($0, with: endProcess)) } + [(SIGTSTP, handle(SIGTSTP, with: SIG_IGN))]
        defer {
            for case (let number, var action?) in handled { sigaction(number, &action, nil) }
        }
        var silent = before.pointee
        silent.c_lflag &= ~tcflag_t(ECHO)
        isSilent.withLock { $0 = true }
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        defer {
            _ = restore()
            Terminal.write("\n", to: STDERR_FILENO)
        }
        return body()
    }

    /// Whether it was silent until now.
    static func restore() -> Bool {
        let wasSilent = isSilent.withLock { isSilent in
            defer { isSilent = false }
            return isSilent
        }
        // At once: what is typed ahead stays, and nothing is waited for.
        if wasSilent { tcsetattr(STDIN_FILENO, TCSANOW, before) }
        return wasSilent
    }

    /// The earlier action; nil: the signal is ignored, and stays so.
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

    /// As a handler: only calls that signal-safety(7) lists. The signal comes once more when it returns, and ends the
    /// process.
    private static let endProcess: @convention(c) (Int32) -> Void = { number in
        tcsetattr(STDIN_FILENO, TCSANOW, SilentTerminal.before)
        signal(number, SIG_DFL)
        raise(number)
    }
}
