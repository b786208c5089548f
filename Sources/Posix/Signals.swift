import Glibc

/// Stop signals, taken by one thread that waits for them instead of by handlers.
public enum Signals {
    /// SIGINT, SIGTERM and SIGHUP: leave cleanly.
    public static let stopping: [Int32] = [SIGINT, SIGTERM, SIGHUP]

    /// Blocks the stop signals in this thread and all it starts from now on. Must run before any
    /// other thread exists. A parent may have left them ignored (`nohup`, `&` in a script), and an
    /// ignored signal is never delivered to a waiter, so their default action is restored first.
    public static func prepare() {
        signal(SIGPIPE, SIG_IGN)
        // A file that may not grow is an error of the write, as a full disk is.
        signal(SIGXFSZ, SIG_IGN)
        for number in stopping { signal(number, SIG_DFL) }
        var set = stopSet()
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Blocks the calling thread until a stop signal arrives and answers which. Once per signal.
    public static func waitForStop() -> Int32 {
        var set = stopSet()
        var number: Int32 = 0
        while sigwait(&set, &number) != 0 {}
        return number
    }

    private static func stopSet() -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in stopping { sigaddset(&set, number) }
        return set
    }
}
