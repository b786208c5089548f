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

    private final class Job: Sendable {
        let lane: Lane
        let work: Work

        init(_ lane: Lane, _ work: @escaping Work) { (self.lane, self.work) = (lane, work) }
    }

    private struct State {
        /// Work that runs, or waits for a slot or a retry.
        var present: [FileID: Job] = [:]
        /// Work to start after the file's present work: of another lane, or requested again during an
        /// attempt.
        var following: [FileID: Job] = [:]
        /// The number of `stop` calls under way for each file. Meanwhile none of its work begins.
        var stopping: [FileID: Int] = [:]
        var progress: [FileID: TransferProgress] = [:]
        var claims: Set<FileID> = []

        /// Drops a request for more work of the present lane.
        mutating func dropRepetition(of file: FileID) {
            if following[file]?.lane == present[file]?.lane { following[file] = nil }
        }

        /// Returns false if the job was stopped. Otherwise the request that it satisfies is dropped.
        mutating func begin(_ job: Job, of file: FileID) -> Bool {
            guard stopping[file] == nil, present[file] === job else { return false }
            dropRepetition(of: file)
            return true
        }

        /// Has no effect if the job has ended.
        mutating func end(_ job: Job?, of file: FileID) {
            guard let job, present[file] === job else { return }
            progress[file] = nil
            present[file] = following.removeValue(forKey: file)
        }
    }

    private let state = Lock(State())
    private let files = WorkQueue<FileID>()
    private let slots: [Lane: AsyncSemaphore]
    private let retry: RetryPolicy

    /// - Parameters:
    ///   - retry: policy without a last attempt.
    ///   - running: maximum number of concurrent transfers per lane. More would share the same bandwidth and
    ///     need more memory.
    init(retry: RetryPolicy, running: Int = 2) {
        self.retry = retry
        slots = [
            .upload: AsyncSemaphore(running), .download: AsyncSemaphore(running),
            .deletion: AsyncSemaphore(1),
        ]
        files.begin { [weak self] in await self?.attempt($0) ?? .idle }
    }

    /// Starts work on a file, retried with growing delays. If the file already has work in this lane, its
    /// delay ends, or its last attempt is followed by another. Work in another lane finishes first.
    func start(_ file: FileID, in lane: Lane, _ work: @escaping Work) {
        let isPresent = state.withLock { state in
            let job = Job(lane, work)
            guard let present = state.present[file] else {
                state.present[file] = job
                return false
            }
            if present.lane != lane || state.following[file] == nil { state.following[file] = job }
            return present.lane == lane
        }
        files.wake(file)
        if isPresent { files.endRetryDelay(of: file) }
    }

    private func attempt(_ file: FileID) async -> WorkOutcome {
        let next = state.withLock { $0.stopping[file] == nil ? $0.present[file] : nil }
        guard let job = next, let slots = slots[job.lane], await slots.acquire() else { return .idle }
        let begins = state.withLock { $0.begin(job, of: file) }
        let wantsMore = begins ? await job.work() : false
        slots.release()
        if wantsMore { return .retry(retry) }
        return state.withLock { state in
            state.end(job, of: file)
            return state.present[file] == nil ? .idle : .more
        }
    }

    /// Ends all delays between attempts.
    func retryNow() { files.endRetryDelays() }

    func isBusy(with file: FileID) -> Bool { files.contains(file) }

    /// Cancels the work on a file and waits for its end. Do not call it from that work.
    func stop(_ file: FileID) async {
        let stopped = state.withLock { state in
            state.stopping[file, default: 0] += 1
            state.dropRepetition(of: file)
            return state.present[file]
        }
        await files.cancel(file)
        let follows = state.withLock { state in
            let others = state.stopping[file, default: 1] - 1
            state.stopping[file] = others > 0 ? others : nil
            state.end(stopped, of: file)
            return state.present[file] != nil
        }
        if follows { files.wake(file) }
    }

    /// Cancels all work and accepts no more.
    func close() async {
        state.withLock { ($0.present, $0.following) = ([:], [:]) }
        await files.close()
    }

    // MARK: - Progress

    var progress: [FileID: TransferProgress] { state.withLock { $0.progress } }

    /// Records progress. Returns whether to report it: another percent, or the end. Ignores ended transfers.
    func note(_ progress: TransferProgress, of file: FileID) -> Bool {
        state.withLock { state in
            guard state.present[file] != nil, state.stopping[file] == nil else { return false }
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
