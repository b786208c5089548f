import Base
import ChatCore
import Glibc
import Posix

/// Signals between the processes of a data directory: a file to write to, watched with inotify(7). No process
/// polls the database.
struct ChangeSignal: Sendable {
    let path: String
    private let file: OpenFile

    /// Opens or creates the file.
    init(path: String) throws(SystemError) {
        self.path = path
        file = try OpenFile(path, flags: O_RDWR | O_CREAT)
    }

    /// Wakes all listeners in all processes, including this one. Best effort: changes are in the database and
    /// also found at the next signal or start.
    func notify() { try? file.write([0], at: 0) }
}

/// A thread that calls `signalled` at its start and after every signal, one call at a time. Signals during a
/// call cause one more call. A failed call is retried after 1 s and then with growing delays up to 1 min,
/// because another signal may never come. `quiet` is called once after half a second without a signal.
final class ChangeSignalListener: Sendable {
    private let stopping: WakeUp
    private let ended = OneTimeEvent()

    /// Milliseconds.
    private static let quietTime: Int32 = 500

    /// - Parameter signalled: returns whether it processed all changes.
    init(
        _ signal: ChangeSignal,
        retry: RetryPolicy = RetryPolicy(first: .seconds(1), maxDelay: .seconds(60), tries: .max),
        signalled: @escaping @Sendable () -> Bool, quiet: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        let stopping = try WakeUp()
        self.stopping = stopping
        let written = try WakeUp()
        let watches = try FileWatch.shared()
        let watch = try watches.add(signal.path) { written.notify() }
        Thread.start("change-signal") { [ended] in
            Self.listen(written, stopping, retry, signalled, quiet)
            watches.remove(watch)
            ended.happen()
        }
    }

    deinit { stopping.notify() }

    /// Ends the thread and waits for its last call.
    func stop() async {
        stopping.notify()
        await ended.wait()
    }

    private static func listen(
        _ written: WakeUp, _ stopping: WakeUp, _ retry: RetryPolicy, _ signalled: @Sendable () -> Bool,
        _ quiet: @Sendable () -> Void
    ) {
        var requests = [written.descriptor, stopping.descriptor].map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        var failures = 0
        while true {
            failures = signalled() ? 0 : failures + 1
            let again =
                failures == 0 ? nil : retry.delay(beforeTry: failures + 1).map { ContinuousClock.now + $0 }
            var isQuiet = false
            repeat {
                let limit = isQuiet ? again.map(milliseconds(until:)) ?? -1 : quietTime
                poll(&requests, milliseconds: limit)
                if requests[1].revents != 0 { return }
                if requests[0].revents == 0 && !isQuiet {
                    isQuiet = true
                    quiet()
                }
            } while requests[0].revents == 0 && again.map { ContinuousClock.now < $0 } ?? true
            // Clear it before the call, so that later signals cause another call.
            written.clear()
        }
    }

    /// Rounded up, because an early wake-up costs another iteration.
    private static func milliseconds(until end: ContinuousClock.Instant) -> Int32 {
        Int32(clamping: Int64(max(end - .now, .zero) / .milliseconds(1)) + 1)
    }
}
