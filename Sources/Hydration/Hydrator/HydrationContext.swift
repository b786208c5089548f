import Base
import ChatCore
import Posix
import XFTP

/// Shared parts of all files of a hydrator. Each part has its own lock or none.
final class HydrationContext: Sendable {
    let core: any FileTransferring
    let settings: HydrationSettings
    let cache: CacheFolder
    let makeSource: ChunkSourceMaker
    let retention: RetentionRequests
    let verified: VerifiedFiles
    let registry: FileRegistry
    /// The order in which files are claimed and given up. The core refuses a second claim of a file, so a new one
    /// waits until the earlier one was given up.
    let claims = AsyncKeyedMutex<FileID>()
    let transfers: ChunkTransfers
    let tasks: TaskSet
    let ticker: Ticker
    let changes = Broadcaster<HydrationChange>()
    let failures: FailureReporter
    let reads = ReadCounts()
    /// The items of partly received files that earlier mounts left, as described at this mount.
    private let earlierItems = Lock<[FileID: ChatItem]>([:])
    private let start: ContinuousClock.Instant

    init(
        core: any FileTransferring, cache: CacheFolder, settings: HydrationSettings,
        retention: RetentionRequests, transfers: ChunkTransfers,
        makeSource: @escaping ChunkSourceMaker
    ) {
        let start = ContinuousClock.now
        let clock: @Sendable () -> Duration = { ContinuousClock.now - start }
        self.start = start
        self.core = core
        self.cache = cache
        verified = VerifiedFiles(cache.savedTags)
        self.settings = settings
        self.retention = retention
        self.makeSource = makeSource
        registry = FileRegistry(filesKeptOpen: settings.filesKeptOpen)
        tasks = TaskSet()
        self.transfers = transfers
        ticker = Ticker(tasks, transfers)
        failures = FailureReporter(cache: cache, clock: clock)
    }

    /// Time since the hydrator's start.
    var now: Duration { ContinuousClock.now - start }

    /// Evicts least recently used files until there is space for `bytes`. Returns false if that is not
    /// possible. Blocks on disk I/O.
    /// - Parameter disk: A file on the disk; nil for that of the cache folder.
    func reserveCapacity(_ bytes: UInt64, on disk: OpenFile? = nil, for file: CachedFile) -> Bool {
        while !cache.hasCapacity(for: bytes, on: disk) {
            guard
                cache.partial.deleteOldest(sparing: retention.pinned) || registry.evictOldest(sparing: file)
            else { return false }
        }
        return true
    }

    /// Records the item of a file that an earlier mount left.
    func note(_ item: ChatItem, of file: FileID) {
        if cache.partial.progress(of: file) != nil { earlierItems.withLock { $0[file] = item } }
    }

    /// The items of such files that are not in use.
    var unusedItems: [ChatItem] {
        let unused = cache.partial.unusedFiles
        return earlierItems.withLock { items in
            items = items.filter { unused.contains($0.key) }
            return Array(items.values)
        }
    }

    /// Drops the part of a file that an earlier mount received, unless the file is in use.
    func dropUnused(_ file: FileID) {
        guard let part = cache.partial.take(file) else { return }
        tasks.spawn { [cache] in await ThreadPool.shared.run { cache.partial.delete(part) } }
    }

    /// Deletes the saved block tags of a file that is no longer stored.
    func dropTags(_ file: FileID) {
        guard let saved = cache.savedTags, let tags = saved.take(file) else { return }
        tasks.spawn { await ThreadPool.shared.run { saved.delete(tags) } }
    }
}

/// Runs blocking work on the thread pool.
func onPool<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await ThreadPool.shared.run { () throws(any Error) in try body() }
}
