import Base
import ChatCore
import Posix
import XFTP

/// Reads the bytes of items, from the core's copy or chunk by chunk from relays. All readers of a file share one download and get their bytes as soon as the chunks are verified.
///
/// Thread-safe. Available bytes are returned on the calling thread. A silent relay delays only readers of its
/// own chunks.
public final class Hydrator: Sendable {
    let context: HydrationContext

    /// - Parameters:
    ///   - cacheFolder: Used by this hydrator alone; emptied now and by `shutDown`.
    ///   - retention: Stores pinned and unfinished files. If nil, they are kept for this object's lifetime.
    ///   - transfers: Limits the fetches; nil for limits of its own, those of the settings.
    ///   - makeSource: Creates the chunk source of a claimed file.
    /// - Throws: `cache` if the folder cannot be emptied.
    public init(
        core: any FileTransferring, cacheFolder: PrivateFolder,
        settings: HydrationSettings = HydrationSettings(),
        retention: RetentionList? = nil, transfers: ChunkTransfers? = nil,
        makeSource: @escaping ChunkSourceMaker
    ) throws(HydrationError) {
        context = HydrationContext(
            core: core,
            cache: try CacheFolder(folder: cacheFolder, staging: core.stagingFolder, settings: settings),
            settings: settings,
            retention: RetentionRequests(retention, finishesWhatWasRead: settings.finishesWhatWasRead),
            transfers: transfers ?? ChunkTransfers(settings: settings.fetching), makeSource: makeSource)
    }

    /// Drops all files if `shutDown` was not called.
    deinit { _ = context.registry.close() }

    /// Opens an item with a file, without waiting: the first read looks for the bytes. Checks with one
    /// stat(2) that an open stored copy is unchanged. Needs one `close`.
    public func open(_ item: ChatItem) -> HydratedFile {
        guard let described = item.file else { preconditionFailure("an item without a file was opened") }
        var opened: (file: CachedFile, wasOutdated: Bool)?
        context.registry.withFile(of: item, described, in: context) { file in
            // At most one system call, without a lock.
            let whole = file.whole
            let outdated = whole?.isUnchanged == false ? whole : nil
            var isOpen = false
            file.step { machine, now in
                let effects = machine.open(item, outdated: outdated, now: now)
                isOpen = effects != nil
                return effects ?? []
            }
            opened = (file, outdated != nil)
            return isOpen
        }
        guard let (file, wasOutdated) = opened else { preconditionFailure("every file has an object") }
        return HydratedFile(file, size: described.size, wasOutdated: wasOutdated)
    }

    /// Takes over the core's new status and source of an item.
    public func update(_ item: ChatItem) {
        if let file = item.file, !file.status.isReadable { context.dropTags(file.id) }
        guard let described = item.file, let file = context.registry[described.id] else { return }
        // At most two system calls, without a lock, and only if the core has lost the copy in use.
        let isCopyDeleted = !described.status.isReadable && file.isCopyDeleted
        file.step { machine, now in
            isCopyDeleted ? machine.copyDeleted(item, now: now) : machine.update(item, now: now)
        }
    }

    /// Takes over transfer progress of the core. The status stays as set by `update`.
    public func advance(_ progress: FileProgress) {
        context.registry[progress.file]?.step { machine, now in machine.advance(progress, now: now) }
    }

    /// Handles a deleted item. Open handles keep the available bytes and get ENODATA for the rest.
    /// - Parameter atOnce: If true, for disappearing or moderated messages, open handles lose the available
    ///   bytes too.
    public func remove(_ file: FileID, atOnce: Bool = false) {
        context.dropTags(file)
        if let object = context.registry[file] {
            object.step { machine, _ in machine.remove(atOnce: atOnce) }
            context.dropUnused(file)
        } else {
            context.dropUnused(file)
            guard context.retention.of(file).contains(.unfinished) else { return }
            context.retention.setUnfinished(file, false)
            context.retention.save(in: context.tasks)
        }
    }

    /// Returns the state from memory, without waiting.
    public func condition(of file: FileID) -> HydrationCondition {
        if let known = context.registry[file] { return known.condition }
        guard let (bytes, percent) = context.cache.partial.progress(of: file) else {
            return HydrationCondition()
        }
        return HydrationCondition(progress: percent, cached: bytes)
    }

    /// Returns the items whose files are open, retained, cached or left by an earlier mount, as last described by the
    /// core. From memory.
    public func present() -> [ChatItem] {
        context.registry.all.map { $0.withMachine(\.item) } + context.unusedItems
    }

    /// Returns a stream of changes from now on, until it is dropped or the hydrator is shut down.
    public func changes() -> AsyncStream<HydrationChange> { context.changes.subscribe() }

    /// Answers all readers, stops downloads, abandons unfinished claims and empties the cache. Partly received files
    /// stay for the next mount, unless chunks are cached in memory.
    public func shutDown() async {
        var claimed: [FileID] = []
        for file in context.registry.close() {
            if file.shutDown() { claimed.append(file.id) }
        }
        context.changes.finish()
        await context.tasks.close()
        for file in claimed { await context.core.abandonClaim(file, problem: nil) }
        let cache = context.cache
        await ThreadPool.shared.run { cache.remove() }
    }
}
