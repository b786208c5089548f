import Base
import Glibc
import Namespace
import Posix

/// Which threads read files of messages lately. A program that removes a file just after it has read it moves it out of
/// the mount: rename(2) cannot do that, so it copies the file and removes the original. Any thread; never waits.
final class LastReaders: Sendable {
    fileprivate struct Reading {
        var thread: pid_t
        var openings: Int
        var closed: ContinuousClock.Instant?
    }

    // In a struct: see `Lock`.
    private struct State {
        var readings: [NodeID: Reading] = [:]
    }

    private let state = Lock(State())
    private let now: @Sendable () -> ContinuousClock.Instant
    private let process: @Sendable (pid_t) -> pid_t?

    /// A program that moves removes the original this soon after its last read. The kernel reports a close late.
    static let moment = Duration.seconds(2)
    /// O_NOATIME, which Glibc's module leaves out.
    private static let leavesAccessTime: Int32 = 0o1000000
    /// Files that are remembered.
    static let limit = 256

    /// - Parameter process: the process of a thread; nil where that cannot be seen.
    init(
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        process: @escaping @Sendable (pid_t) -> pid_t? = { ThreadStatus(of: $0)?.process }
    ) {
        self.now = now
        self.process = process
    }

    /// A thread opened a file to read it. File managers that look at a beginning only (`O_NOATIME`) do not count.
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

    /// Whether the process of a thread that removes a file read it up to this moment. Looks into `/proc` where the
    /// threads differ.
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

extension LastReaders.Reading {
    fileprivate func isOver(at now: ContinuousClock.Instant) -> Bool {
        closed.map { $0.duration(to: now) > LastReaders.moment } ?? false
    }
}
