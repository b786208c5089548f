import Glibc

/// Stop signals, received by a waiting thread instead of handlers.
public enum Signals {
    /// SIGINT, SIGTERM and SIGHUP, which end the program cleanly.
    public static let stopping: [Int32] = [SIGINT, SIGTERM, SIGHUP]

    /// Blocks the stop signals in this thread and its later children. Call before any other thread exists. The parent
    /// may have ignored them (`nohup`, `&` in a script), and an ignored signal never reaches a waiter, so this restores
    /// their default action first.
    public static func prepare() {
        signal(SIGPIPE, SIG_IGN)
        // Exceeding RLIMIT_FSIZE becomes an error of the write, like a full disk.
        signal(SIGXFSZ, SIG_IGN)
        for number in stopping { signal(number, SIG_DFL) }
        var set = stopSet()
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Waits for a stop signal and returns it. Returns once per signal.
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
