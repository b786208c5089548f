import Base
import ChatCore
import Posix

/// Gives the bytes of every item: from the core's copy, or chunk by chunk from the relays into a sealed
/// cache. One download per file however many read; readers get their bytes as soon as the chunks that hold
/// them have arrived and were checked.
///
/// Any thread. What is available is answered on the caller's thread; nothing else here waits, and a silent
/// relay delays nobody but those who wait for its chunks.
public final class Hydrator: Sendable {
    let context: HydrationContext

    /// - Parameters:
    ///   - cacheFolder: for this hydrator alone; emptied now and by `shutDown`.
    ///   - retention: where it is remembered what is pinned or unfinished; without, it is for this hydrator's life.
    ///   - makeSource: how claimed files are fetched.
    /// - Throws: `cache` when the folder cannot be emptied.
    public init(
        core: any FileTransferring, cacheFolder: PrivateFolder,
        settings: HydrationSettings = HydrationSettings(),
        retention: RetentionList? = nil, makeSource: @escaping ChunkSourceMaker
    ) throws(HydrationError) {
        context = HydrationContext(
            core: core, cache: try BlockCache(folder: cacheFolder, settings: settings), settings: settings,
            retention: RetentionRequests(retention, finishesWhatWasRead: settings.finishesWhatWasRead),
            makeSource: makeSource)
    }

    /// Without `shutDown`, nothing of the files stays either.
    deinit { _ = context.registry.close() }

    /// Opens an item that carries a file. No waiting: bytes are looked for by the first read, and at a stored
    /// copy that is available one look is taken, whether it is still the one that was checked. Every call is
    /// answered by one `close`.
    public func open(_ item: ChatItem) -> HydratedFile {
        guard let described = item.file else { preconditionFailure("an item without a file was opened") }
        var opened: (file: CachedFile, wasOutdated: Bool)?
        context.registry.withFile(of: item, described, in: context) { file in
            // Asks the disk at most once, under no lock.
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

    /// What the core said about an item: its new status and source.
    public func update(_ item: ChatItem) {
        guard let described = item.file, let file = context.registry[described.id] else { return }
        // Looks at the disk, under no lock, only where the core says that it has not got what is served.
        let isCopyDeleted = !described.status.isReadable && file.isCopyDeleted
        file.step { machine, now in
            isCopyDeleted ? machine.copyDeleted(item, now: now) : machine.update(item, now: now)
        }
    }

    /// How far the core is with a file that it receives or sends. Its status stays what `update` was told last.
    public func advance(_ progress: FileProgress) {
        context.registry[progress.file]?.step { machine, now in machine.advance(progress, now: now) }
    }

    /// The item is deleted. Open readers keep the bytes that are here; what is missing is ENODATA for
    /// them. `atOnce` takes those bytes too, for what disappears or was moderated.
    public func remove(_ file: FileID, atOnce: Bool = false) {
        if let object = context.registry[file] {
            object.step { machine, _ in machine.remove(atOnce: atOnce) }
        } else if context.retention.of(file).contains(.unfinished) {
            context.retention.setUnfinished(file, false)
            context.retention.save(in: context.tasks)
        }
    }

    /// From memory, at once.
    public func condition(of file: FileID) -> HydrationCondition {
        context.registry[file]?.condition ?? HydrationCondition()
    }

    /// Items whose files are open, retained or have blocks in the cache, as the core told of them last. From memory.
    public func present() -> [ChatItem] { context.registry.all.map { $0.withMachine(\.item) } }

    /// Changes from now on, until the stream is dropped or the hydrator shut down.
    public func changes() -> AsyncStream<HydrationChange> { context.changes.subscribe() }

    /// Answers everyone who waits, stops downloads, gives unfinished claims back and removes the cache.
    public func shutDown() async {
        var claimed: [FileID] = []
        for file in context.registry.close() {
            if case .chunks(let download) = file.withMachine(\.phase.content) {
                download.pipeline.stop()
                claimed.append(file.id)
            }
            file.step { machine, _ in machine.shutDown() }
        }
        context.changes.finish()
        await context.tasks.close()
        for file in claimed { await context.core.abandonClaim(file, problem: nil) }
        let cache = context.cache
        await ThreadPool.shared.run { cache.remove() }
    }
}
