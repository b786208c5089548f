import Base

/// The scheduler's key: the current download of a file. Equality is the download's identity.
struct Transfer: Hashable, Sendable {
    let file: CachedFile
    let download: Download

    static func == (left: Self, right: Self) -> Bool { left.download === right.download }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(download)) }
}

/// Performs the scheduler's decisions, with one task per fetched chunk. Thread-safe.
final class ChunkTransfers: Sendable {
    typealias Fetch = FetchScheduler<Transfer>.Fetch

    private struct State {
        var scheduler: FetchScheduler<Transfer>
        var tasks: [Fetch: Task<Void, Never>] = [:]
    }

    private let state: Lock<State>
    private let tasks: TaskSet
    private let ticker: Ticker
    private let clock: @Sendable () -> Duration

    init(
        settings: FetchSettings, tasks: TaskSet, ticker: Ticker, clock: @escaping @Sendable () -> Duration
    ) {
        state = Lock(State(scheduler: FetchScheduler(settings: settings)), rank: .chunkTransfers)
        self.tasks = tasks
        self.ticker = ticker
        self.clock = clock
    }

    /// Sets the wanted chunks of a file. Call it with the file's lock held, so that updates are ordered; then
    /// call `schedule` without it.
    func update(_ transfer: Transfer, _ layout: ChunkLayout, _ requests: FetchRequests) {
        state.withLock { $0.scheduler.update(transfer, layout, requests) }
    }

    /// Removes a file. Locks as for `update`.
    func remove(_ transfer: Transfer) { state.withLock { $0.scheduler.remove(transfer) } }

    /// Starts granted fetches and cancels unwanted ones.
    func schedule() {
        while true {
            let actions = state.withLock { $0.scheduler.schedule(now: clock()) }
            if actions.isEmpty { break }
            for action in actions {
                switch action {
                case .fetch(let fetch): begin(fetch)
                // A fetch without a task is cancelled in `begin`.
                case .cancel(let fetch): state.withLock { $0.tasks[fetch] }?.cancel()
                }
            }
        }
        if needsTicks { ticker.run(for: self) }
    }

    /// True if the scheduler waits for time alone.
    var needsTicks: Bool { state.withLock { $0.scheduler.needsTicks } }

    /// As `FetchScheduler.load`.
    var load: (files: Int, chunks: Int) { state.withLock { $0.scheduler.load } }

    private func begin(_ fetch: Fetch) {
        guard fetch.file.file.started(fetch.file.download, fetch.chunk) else {
            return state.withLock { _ = $0.scheduler.ended(fetch) }
        }
        let cancelled = state.withLock { state -> Task<Void, Never>? in
            guard let task = tasks.spawn({ await self.run(fetch) }) else {
                state.scheduler.ended(fetch)
                return nil
            }
            state.tasks[fetch] = task
            return state.scheduler.isCancelled(fetch) ? task : nil
        }
        cancelled?.cancel()
    }

    private func run(_ fetch: Fetch) async {
        let (file, download) = (fetch.file.file, fetch.file.download)
        let problem = await ChunkFetch(fetch, transfers: self).run()
        let wasCancelled = state.withLock { state in
            state.tasks[fetch] = nil
            return state.scheduler.ended(fetch)
        }
        if let problem {
            file.step { machine, now in
                machine.fetchFailed(download, fetch.chunk, problem, wasCancelled: wasCancelled, now: now)
            }
        }
        schedule()
    }

    /// Records received bytes of a chunk.
    func progressed(_ fetch: Fetch, received: UInt64) {
        let leavesItsPlace = state.withLock {
            $0.scheduler.progressed(fetch, received: received, now: clock())
        }
        fetch.file.file.progressed(fetch.file.download, fetch.chunk)
        if leavesItsPlace { schedule() }
    }

    /// Records a readable chunk, whose memory is in use until its task ends.
    func arrived(_ fetch: Fetch, contentOffset: UInt64?) {
        state.withLock { $0.scheduler.arrived(fetch, now: clock()) }
        fetch.file.file.step { machine, now in
            machine.arrived(fetch.file.download, fetch.chunk, contentOffset: contentOffset, now: now)
        }
        schedule()
    }
}
