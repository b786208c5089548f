import Base

/// A download of one file, which requests chunks from `ChunkTransfers`. Its identity is the key of its requests.
public protocol ChunkRequester: AnyObject, Sendable {
    /// Runs the fetches of this download. Closing it ends them.
    var tasks: TaskSet { get }
    /// Records a granted fetch. Returns false if the chunk is no longer wanted.
    func started(_ chunk: Int) -> Bool
    /// Fetches and stores a chunk. Its memory counts until this returns.
    func fetch(_ fetch: GrantedFetch) async throws
    /// Records the error of `fetch`.
    /// - Parameter wasCancelled: True if the scheduler cancelled the fetch before the chunk was complete.
    func failed(_ chunk: Int, _ error: any Error, wasCancelled: Bool)
}

/// A chunk that its requester fetches now.
public struct GrantedFetch: Sendable {
    fileprivate let fetch: ChunkTransfers.Fetch
    fileprivate let transfers: ChunkTransfers

    public var chunk: Int { fetch.chunk }

    /// Records the number of received bytes. Call it at the first byte too, which measures the relay's latency.
    public func progressed(received: UInt64) { transfers.progressed(fetch, received: received) }

    /// Records that all bytes have arrived.
    /// - Parameter body: Changes the requests accordingly, before new fetches are granted.
    public func arrived(_ body: () -> Void = {}) { transfers.arrived(fetch, body) }
}

/// Performs the scheduler's decisions, with one task per fetched chunk. Thread-safe.
public final class ChunkTransfers: Sendable {
    struct Requester: Hashable, Sendable {
        let object: any ChunkRequester

        static func == (left: Self, right: Self) -> Bool { left.object === right.object }
        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(object)) }
    }

    typealias Fetch = FetchScheduler<Requester>.Fetch

    private struct State {
        var scheduler: FetchScheduler<Requester>
        var tasks: [Fetch: Task<Void, Never>] = [:]
        var isTicking = false

        /// True if time alone may change the decisions: a fetch may stall.
        var needsTicks: Bool {
            let load = scheduler.load
            return scheduler.needsTicks || load.files > 0 && load.chunks > 0
        }
    }

    private static let interval = Duration.milliseconds(500)

    let settings: FetchSettings
    private let state: Lock<State>
    private let start = ContinuousClock.now

    public init(settings: FetchSettings) {
        self.settings = settings
        state = Lock(State(scheduler: FetchScheduler(settings: settings)), rank: .chunkTransfers)
    }

    /// Sets the wanted chunks of a file. Call it with the requester's lock held, so that updates are ordered; then call
    /// `schedule` without it.
    public func update(_ requester: any ChunkRequester, _ layout: ChunkLayout, _ requests: FetchRequests) {
        state.withLock { $0.scheduler.update(Requester(object: requester), layout, requests) }
    }

    /// Removes a file. Locks as for `update`.
    public func remove(_ requester: any ChunkRequester) {
        state.withLock { $0.scheduler.remove(Requester(object: requester)) }
    }

    /// Starts granted fetches and cancels unwanted ones.
    public func schedule() {
        perform()
        let begins = state.withLock { state in
            guard state.needsTicks, !state.isTicking else { return false }
            state.isTicking = true
            return true
        }
        guard begins else { return }
        // Weak, so that the task ends with the object.
        Task { [weak self] in
            repeat { try? await Task.sleep(for: Self.interval) } while self?.tick() ?? false
        }
    }

    /// The number of files that request chunks, and of chunks that are being fetched.
    public var load: (files: Int, chunks: Int) { state.withLock { $0.scheduler.load } }

    private var now: Duration { ContinuousClock.now - start }

    /// Returns false if no more ticks are needed.
    private func tick() -> Bool {
        perform()
        return state.withLock { state in
            // Under the lock, so that `schedule` does not see a tick that is about to end.
            state.isTicking = state.needsTicks
            return state.isTicking
        }
    }

    private func perform() {
        while true {
            let actions = state.withLock { $0.scheduler.schedule(now: now) }
            if actions.isEmpty { return }
            for action in actions {
                switch action {
                case .fetch(let fetch): begin(fetch)
                // A fetch without a task is cancelled in `begin`.
                case .cancel(let fetch): state.withLock { $0.tasks[fetch] }?.cancel()
                }
            }
        }
    }

    private func begin(_ fetch: Fetch) {
        let requester = fetch.file.object
        guard requester.started(fetch.chunk) else {
            return state.withLock { _ = $0.scheduler.ended(fetch) }
        }
        let cancelled = state.withLock { state -> Task<Void, Never>? in
            guard let task = requester.tasks.spawn({ await self.run(fetch) }) else {
                state.scheduler.ended(fetch)
                return nil
            }
            state.tasks[fetch] = task
            return state.scheduler.isCancelled(fetch) ? task : nil
        }
        cancelled?.cancel()
    }

    private func run(_ fetch: Fetch) async {
        let requester = fetch.file.object
        var failure: (any Error)?
        do {
            try await requester.fetch(GrantedFetch(fetch: fetch, transfers: self))
        } catch {
            failure = error
        }
        let wasCancelled = state.withLock { state in
            state.tasks[fetch] = nil
            return state.scheduler.ended(fetch)
        }
        if let failure { requester.failed(fetch.chunk, failure, wasCancelled: wasCancelled) }
        schedule()
    }

    fileprivate func progressed(_ fetch: Fetch, received: UInt64) {
        let leavesItsPlace = state.withLock {
            $0.scheduler.progressed(fetch, received: received, now: now)
        }
        if leavesItsPlace { schedule() }
    }

    fileprivate func arrived(_ fetch: Fetch, _ body: () -> Void) {
        state.withLock { $0.scheduler.arrived(fetch, now: now) }
        body()
        schedule()
    }
}
