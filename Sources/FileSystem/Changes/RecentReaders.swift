import Base
import Glibc
import Namespace
import Posix

/// Remembers which threads recently read files of messages. A removal by the same process just after its last read is a
/// move out of the mount: rename(2) fails with EXDEV across file systems, so the program copies the file and unlinks
/// the original. Thread-safe; never waits.
final class RecentReaders: Sendable {
    fileprivate struct Reading {
        var thread: pid_t
        var openings: Int
        var closed: ContinuousClock.Instant?
    }

    // A struct, as `Lock` requires.
    private struct State {
        var readings: [NodeID: Reading] = [:]
    }

    private let state = Lock(State())
    private let now: @Sendable () -> ContinuousClock.Instant
    private let process: @Sendable (pid_t) -> pid_t?

    /// Maximum delay between a mover's last read and its unlink. The kernel reports a close late.
    static let moment = Duration.seconds(2)
    /// O_NOATIME, which the Glibc module does not export.
    private static let leavesAccessTime: Int32 = 0o1000000
    /// Maximum number of remembered files.
    static let limit = 256

    /// - Parameter process: Returns the process of a thread, or nil if it is unknown.
    init(
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        process: @escaping @Sendable (pid_t) -> pid_t? = { ThreadStatus(of: $0)?.process }
    ) {
        self.now = now
        self.process = process
    }

    /// Records an opening for reading. Type detection by file managers (`O_NOATIME`) does not count.
    func opened(_ node: NodeID, flags: Int32, by thread: pid_t) {
        guard thread > 0, flags & Self.leavesAccessTime == 0 else { return }
        let now = now()
        state.withLock { state in
            if state.readings.count >= Self.limit {
                state.readings = state.readings.filter { !$0.value.isOver(at: now) }
                if state.readings.count >= Self.limit { state.readings = [:] }
            }
            let openings = state.readings[node]?.openings ?? 0
            state.readings[node] = Reading(thread: thread, openings: openings + 1)
        }
    }

    func closed(_ node: NodeID) {
        let now = now()
        state.withLock { state in
            guard var reading = state.readings[node] else { return }
            reading.openings -= 1
            if reading.openings <= 0 { reading.closed = now }
            state.readings[node] = reading
        }
    }

    /// Returns true if the process of the removing thread read the file up to now. Reads `/proc` if the threads differ.
    func isReader(_ thread: pid_t, of node: NodeID) -> Bool {
        let now = now()
        guard thread > 0, let reading = state.withLock({ $0.readings[node] }), !reading.isOver(at: now) else {
            return false
        }
        if reading.thread == thread { return true }
        guard let reader = process(reading.thread) else { return false }
        return reader == process(thread)
    }
}

extension RecentReaders.Reading {
    fileprivate func isOver(at now: ContinuousClock.Instant) -> Bool {
        closed.map { $0.duration(to: now) > RecentReaders.moment } ?? false
    }
}
