import Base
import ChatCore

/// Schedules a profile's transfers, tracks their progress, and records files claimed by other parts. At most
/// one task per file.
final class TransferScheduler: Sendable {
    enum Lane: Hashable {
        case upload
        case download
        case deletion
    }

    /// One attempt; returns whether to retry.
    typealias Work = @Sendable () async -> Bool

    private struct State {
        var tasks: [FileID: (lane: Lane, task: Task<Void, Never>)] = [:]
        /// Work to start after the file's current work: of another lane, or requested again during an
        /// attempt.
        var following: [FileID: (lane: Lane, work: Work)] = [:]
        /// Delays between attempts.
        var backoffs: [FileID: Task<Void, Never>] = [:]
        var progress: [FileID: TransferProgress] = [:]
        var claims: Set<FileID> = []
        var isClosed = false
    }

    private let state = Lock(State())
    private let slots: [Lane: AsyncSemaphore]
    private let retry: RetryPolicy

    /// - Parameter running: maximum number of concurrent transfers per lane. More would share the same
    ///   bandwidth and need more memory.
    init(retry: RetryPolicy, running: Int = 2) {
        self.retry = retry
        slots = [
            .upload: AsyncSemaphore(running), .download: AsyncSemaphore(running),
            .deletion: AsyncSemaphore(1),
        ]
    }

    /// Starts work on a file, retried with growing delays. If the file already has work in this lane, its
    /// delay ends, or its last attempt is followed by another. Work in another lane finishes first.
    func start(_ file: FileID, in lane: Lane, _ work: @escaping Work) {
        state.withLock { state in
            guard let present = state.tasks[file] else { return begin(file, in: lane, work, &state) }
            if present.lane == lane, let backoff = state.backoffs[file] {
                backoff.cancel()
            } else if present.lane != lane || state.following[file] == nil {
                state.following[file] = (lane, work)
            }
        }
    }

    private func begin(_ file: FileID, in lane: Lane, _ work: @escaping Work, _ state: inout State) {
        guard let slots = slots[lane], !state.isClosed else { return }
        let task = Task { [retry, shared = self.state, weak self] in
            var number = 1
            while await slots.acquire() {
                Self.noteTry(of: file, in: lane, shared)
                let wantsMore = await work()
                slots.release()
                number += 1
                guard wantsMore, let delay = retry.delay(beforeTry: number) else { break }
                guard await Self.wait(delay, beforeRetrying: file, shared) else { break }
            }
            self?.end(file)
        }
        state.tasks[file] = (lane, task)
    }

    /// Drops a request that the starting attempt satisfies.
    private static func noteTry(of file: FileID, in lane: Lane, _ state: Lock<State>) {
        state.withLock { state in
            if state.following[file]?.lane == lane { state.following[file] = nil }
        }
    }

    /// Waits for the delay, or until `start` ends it. Returns false if cancelled.
    private static func wait(
        _ delay: Duration, beforeRetrying file: FileID, _ state: Lock<State>
    ) async -> Bool {
        let backoff = Task { _ = try? await Task.sleep(for: delay) }
        state.withLock { $0.backoffs[file] = backoff }
        await withTaskCancellationHandler {
            await backoff.value
        } onCancel: {
            backoff.cancel()
        }
        state.withLock { $0.backoffs[file] = nil }
        return !Task.isCancelled
    }

    private func end(_ file: FileID) {
        state.withLock { state in
            state.tasks[file] = nil
            state.progress[file] = nil
            guard let (lane, work) = state.following.removeValue(forKey: file) else { return }
            begin(file, in: lane, work, &state)
        }
    }

    /// Ends all delays between attempts.
    func retryNow() {
        let backoffs = state.withLock { Array($0.backoffs.values) }
        for backoff in backoffs { backoff.cancel() }
    }

    func isBusy(with file: FileID) -> Bool { state.withLock { $0.tasks[file] != nil } }

    /// Cancels the work on a file and waits for its end. Do not call it from that work.
    func stop(_ file: FileID) async {
        let task = state.withLock { state -> Task<Void, Never>? in
            guard let (lane, task) = state.tasks[file] else { return nil }
            if state.following[file]?.lane == lane { state.following[file] = nil }
            return task
        }
        task?.cancel()
        await task?.value
    }

    /// Cancels all work and accepts no more.
    func close() async {
        let tasks = state.withLock { state in
            state.isClosed = true
            return state.tasks.values.map(\.task)
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    // MARK: - Progress

    var progress: [FileID: TransferProgress] { state.withLock { $0.progress } }

    /// Records progress. Returns whether to report it: another percent, or the end. Ignores ended transfers.
    func note(_ progress: TransferProgress, of file: FileID) -> Bool {
        state.withLock { state in
            guard let task = state.tasks[file]?.task, !task.isCancelled else { return false }
            let last = state.progress.updateValue(progress, forKey: file)
            guard let last, last.total == progress.total, progress.done < progress.total else { return true }
            let step = max(progress.total / 100, 1)
            return progress.done / step != last.done / step
        }
    }

    // MARK: - Claims

    /// Returns false if the file is already claimed.
    func claim(_ file: FileID) -> Bool { state.withLock { $0.claims.insert(file).inserted } }
    func isClaimed(_ file: FileID) -> Bool { state.withLock { $0.claims.contains(file) } }
    func endClaim(_ file: FileID) { state.withLock { _ = $0.claims.remove(file) } }
}
