import Base
import Namespace
import Posix

/// The quiet time of each folder, which restarts with each change. Uses one delay per folder, however many changes.
/// Thread-safe.
final class PastedTimers: Sendable {
    private struct Waiting {
        var attempt: Int
        var deadline: ContinuousClock.Instant
    }

    private struct State {
        var waiting: [NodeID: Waiting] = [:]
        var whenOver: @Sendable (NodeID, Int) -> Void = { _, _ in }
    }

    /// Their own, because an archive takes minutes.
    private static let threads = ThreadPool(name: "archiving", threads: 2)

    private let quietTime: Duration
    private let longWait: Duration
    private let state = Lock(State())
    private let folders = WorkQueue<NodeID>()

    init(quietTime: Duration, longWait: Duration) {
        self.quietTime = quietTime
        self.longWait = longWait
        folders.begin { [weak self] in self?.look(at: $0) ?? .idle }
    }

    /// Sets the callback, which receives the folder and its attempt on a pool thread. Called once, before the first
    /// `wait`.
    func whenOver(_ body: @escaping @Sendable (NodeID, Int) -> Void) { state.withLock { $0.whenOver = body } }

    /// Starts or restarts the time of a folder.
    func wait(_ folder: NodeID, _ attempt: Int, isLong: Bool) {
        let waiting = Waiting(attempt: attempt, deadline: .now + (isLong ? longWait : quietTime))
        let isFirst = state.withLock { $0.waiting.updateValue(waiting, forKey: folder) == nil }
        if isFirst { folders.wake(folder) }
    }

    /// Ends a folder's time early. Returns the attempt if it was waiting and may continue now.
    /// - Parameter isIdle: If true, it may continue whenever it changed last; otherwise only if half of the quiet time
    ///   passed since.
    func end(_ folder: NodeID, isIdle: Bool) -> Int? {
        state.withLock { state in
            guard let waiting = state.waiting.removeValue(forKey: folder) else { return nil }
            return isIdle || ContinuousClock.now >= waiting.deadline - quietTime / 2 ? waiting.attempt : nil
        }
    }

    /// Calls the callback if the folder's time is over.
    private func look(at folder: NodeID) -> WorkOutcome {
        let (outcome, due) = state.withLock { state -> (WorkOutcome, (@Sendable () -> Void)?) in
            guard let waiting = state.waiting[folder] else { return (.idle, nil) }
            let rest = ContinuousClock.now.duration(to: waiting.deadline)
            if rest > .zero { return (.later(rest), nil) }
            state.waiting[folder] = nil
            let body = state.whenOver
            return (.idle, { body(folder, waiting.attempt) })
        }
        if let due { Self.threads.submit(due) }
        return outcome
    }
}
