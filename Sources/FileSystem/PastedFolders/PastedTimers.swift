import Base
import Namespace
import Posix

/// The quiet time of each folder, which restarts with each change. Uses one sleeping task per folder, however many
/// changes. Thread-safe.
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

    init(quietTime: Duration, longWait: Duration) {
        self.quietTime = quietTime
        self.longWait = longWait
    }

    /// Sets the callback, which receives the folder and its attempt on a pool thread. Called once, before the first
    /// `wait`.
    func whenOver(_ body: @escaping @Sendable (NodeID, Int) -> Void) { state.withLock { $0.whenOver = body } }

    /// Starts or restarts the time of a folder.
    func wait(_ folder: NodeID, _ attempt: Int, isLong: Bool) {
        let waiting = Waiting(attempt: attempt, deadline: .now + (isLong ? longWait : quietTime))
        let isFirst = state.withLock { $0.waiting.updateValue(waiting, forKey: folder) == nil }
        if isFirst { Task { await self.sleep(for: folder) } }
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

    private func sleep(for folder: NodeID) async {
        while let waiting = state.withLock({ $0.waiting[folder] }) {
            if waiting.deadline > .now {
                // Never cancelled.
                try? await Task.sleep(until: waiting.deadline, clock: .continuous)
                continue
            }
            let body = state.withLock { state -> (@Sendable (NodeID, Int) -> Void)? in
                guard state.waiting[folder]?.attempt == waiting.attempt else { return nil }
                state.waiting[folder] = nil
                return state.whenOver
            }
            guard let body else { continue }
            return await Self.threads.run { body(folder, waiting.attempt) }
        }
    }
}
