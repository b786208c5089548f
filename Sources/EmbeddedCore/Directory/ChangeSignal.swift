import Base
import ChatCore
import Glibc
import Posix

/// How the processes on one data directory tell each other that there is something new: a file that is
/// written to, and inotify(7) on it. No process looks at the database without having been told to.
struct ChangeSignal: Sendable {
    let path: String
    private let file: OpenFile

    /// Opens the file, making it when it is missing.
    init(path: String) throws(SystemError) {
        self.path = path
        file = try OpenFile(path, flags: O_RDWR | O_CREAT)
    }

    /// Wakes every listener of every process, this one's too. Best effort: what is new is in the
    /// database and is found with the next signal or at the next start.
    func notify() { try? file.write([0], at: 0) }
}

/// A thread that calls `signalled` once at its start and after every signal, one call at a time. Signals that
/// come during a call lead to one more call. When it says that it could not take everything in, it is called again
/// after a second, and later each time, up to a minute: there may never be another signal. `quiet` is called once
/// when after a call none came for half a second.
final class ChangeSignalListener: Sendable {
    private let stopping: WakeUp
    private let ended: Lock<(isOver: Bool, waiting: [CheckedContinuation<Void, Never>])>

    /// Milliseconds.
    private static let quietTime: Int32 = 500

    /// - Parameter signalled: whether all that there is was taken in.
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
        let ended = Lock((isOver: false, waiting: [CheckedContinuation<Void, Never>]()))
        self.ended = ended
        Thread.start("change-signal") {
            Self.listen(written, stopping, retry, signalled, quiet)
            watches.remove(watch)
            let waiting = ended.withLock { state in
                state.isOver = true
                return state.waiting
            }
            for continuation in waiting { continuation.resume() }
        }
    }

    deinit { stopping.notify() }

    /// Ends the thread and waits until its last call is over.
    func stop() async {
        stopping.notify()
        await withCheckedContinuation { continuation in
            let isOver = ended.withLock { state in
                if !state.isOver { state.waiting.append(continuation) }
                return state.isOver
            }
            if isOver { continuation.resume() }
        }
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
            // Cleared before the call: a signal from here on leads to another one.
            written.clear()
        }
    }

    /// Rounded up: a moment too early would be another iteration.
    private static func milliseconds(until end: ContinuousClock.Instant) -> Int32 {
        let left = max(end - .now, .zero).components
        return Int32(clamping: left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000 + 1)
    }
}
