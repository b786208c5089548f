import Base
import ChatCore
import Posix

/// What the files of one hydrator share. Every part has its own lock, or none.
final class HydrationContext: Sendable {
    let core: any FileTransferring
    let settings: HydrationSettings
    let cache: BlockCache
    let makeSource: ChunkSourceMaker
    let retention: RetentionRequests
    let verified = VerifiedFiles()
    let registry: FileRegistry
    let transfers: ChunkTransfers
    let tasks: TaskSet
    let ticker: Ticker
    let changes = Broadcaster<HydrationChange>()
    let failures: FailureReporter
    private let start: ContinuousClock.Instant

    init(
        core: any FileTransferring, cache: BlockCache, settings: HydrationSettings,
        retention: RetentionRequests,
        makeSource: @escaping ChunkSourceMaker
    ) {
        let start = ContinuousClock.now
        let clock: @Sendable () -> Duration = { ContinuousClock.now - start }
        self.start = start
        self.core = core
        self.cache = cache
        self.settings = settings
        self.retention = retention
        self.makeSource = makeSource
        registry = FileRegistry(filesKeptOpen: settings.filesKeptOpen)
        tasks = TaskSet()
        ticker = Ticker(tasks)
        transfers = ChunkTransfers(settings: settings, tasks: tasks, ticker: ticker, clock: clock)
        failures = FailureReporter(cache: cache, clock: clock)
    }

    /// Since the hydrator's start.
    var now: Duration { ContinuousClock.now - start }

    /// Makes capacity on the disk of the cache available, if need be at the cost of what was used longest ago. False when
    /// everything that may go has gone and it is still not enough. Blocks on the disk.
    func reserveCapacity(_ bytes: UInt64, for file: CachedFile) -> Bool {
        while !cache.hasCapacity(for: bytes) {
            guard registry.evictOldest(sparing: file) else { return false }
        }
        return true
    }
}

/// A blocking step of a task, on the thread pool.
func onPool<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await ThreadPool.shared.run { () throws(any Error) in try body() }
}
