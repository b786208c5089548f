import Base
import Namespace
import Posix

/// The quiet times of folders: each begins anew whenever something in the folder changes. One sleeping task for each
/// folder, however often that is. Any thread.
final class PastedTimers: Sendable {
    private struct Waiting {
        var attempt: Int
        var deadline: ContinuousClock.Instant
    }

    private struct State {
        var waiting: [NodeID: Waiting] = [:]
        var whenOver: @Sendable (NodeID, Int) -> Void = { _, _ in }
    }

    private let quietTime: Duration
    private let longWait: Duration
    private let state = Lock(State())

    init(quietTime: Duration, longWait: Duration) {
        self.quietTime = quietTime
        self.longWait = longWait
    }

    /// Called on a pool thread, with the folder and the attempt whose time is over. Set once, before anything waits.
    func whenOver(_ body: @escaping @Sendable (NodeID, Int) -> Void) { state.withLock { $0.whenOver = body } }

    /// The time of a folder begins now, in place of one that is under way.
    func wait(_ folder: NodeID, _ attempt: Int, isLong: Bool) {
        let waiting = Waiting(attempt: attempt, deadline: .now + (isLong ? longWait : quietTime))
        let isFirst = state.withLock { $0.waiting.updateValue(waiting, forKey: folder) == nil }
        if isFirst { Task { await self.sleep(for: folder) } }
    }

    /// Ends the time of a folder before it is over: the attempt, where it waited and may go on now.
    /// - Parameter isIdle: it may whenever it was changed; else when that was a while ago.
    func end(_ folder: NodeID, isIdle: Bool) -> Int? {
        state.withLock { state in
            guard let waiting = state.waiting.removeValue(forKey: folder) else { return nil }
            return isIdle || ContinuousClock.now >= waiting.deadline - quietTime / 2 ? waiting.attempt : nil
        }
    }

    private func sleep(for folder: NodeID) async {
        while let waiting = state.withLock({ $0.waiting[folder] }) {
            if waiting.deadline > .now {
                // Nobody cancels it.
                try? await Task.sleep(until: waiting.deadline, clock: .continuous)
                continue
            }
            let body = state.withLock { state -> (@Sendable (NodeID, Int) -> Void)? in
                guard state.waiting[folder]?.attempt == waiting.attempt else { return nil }
                state.waiting[folder] = nil
                return state.whenOver
            }
            guard let body else { continue }
            return await ThreadPool.shared.run { body(folder, waiting.attempt) }
        }
    }
}
