import Base
import ChatCore
import Posix

/// Gives the bytes of every item: from the core's copy, or chunk by chunk from the relays into a sealed
/// cache. One download per file however many read; readers get their bytes as soon as the chunks that hold
/// them have arrived and were checked.
///
/// Any thread. What is at hand is answered on the caller's thread; nothing else here waits, and a silent
/// relay delays nobody but those who wait for its chunks.
public final class Hydrator: Sendable {
    /// Makes the source of a claimed file's chunks from its description.
    public typealias SourceMaker = @Sendable (ClaimedFile) async throws -> any ChunkSource

    enum Content: Sendable {
        case chunks(Download)
        case whole(WholeContent)

        /// Gives its place back now, whoever still holds it: a chunk on its way, or the kernel, which reads a
        /// plain copy by itself and finds nothing from then on. Blocks on the disk.
        func erase() {
            switch self {
            case .chunks(let download):
                download.pass.stop()
                for chunk in 0..<download.stream.layout.count { download.stream.forget(chunk) }
            case .whole(.copy(let copy)):
                do {
                    try copy.file.truncate(to: 0)
                } catch {
                    Log("hydration").error("a file that is gone could not be emptied: \(error.sentence)")
                }
            case .whole: break
            }
        }
    }

    enum WaitOutcome: Sendable {
        case ready
        case failed(FileProblem)
        case cancelled
    }

    let core: any ChatCore
    let cache: BlockCache
    let makeSource: SourceMaker
    let log = Log("hydration")
    /// What was logged a moment ago.
    let failures = Lock(RepetitionLimit<String>())
    let settings: HydrationSettings
    let wishes: WishedFiles?
    let verified = VerifiedFiles()
    let shared: Lock<HydratorState>
    let start = ContinuousClock.now

    /// - Parameters:
    ///   - cacheFolder: for this hydrator alone; emptied now and by `shutDown`.
    ///   - wishes: where it is remembered what is pinned or unfinished; without, it is for this hydrator's life.
    ///   - makeSource: how claimed files are fetched.
    public init(
        core: any ChatCore, cacheFolder: PrivateFolder, settings: HydrationSettings = HydrationSettings(),
        wishes: WishedFiles? = nil, makeSource: @escaping SourceMaker
    ) throws(HydrationError) {
        self.core = core
        self.makeSource = makeSource
        self.settings = settings
        self.wishes = wishes
        cache = try BlockCache(folder: cacheFolder, settings: settings)
        let machine = HydrationMachine(
            settings: settings, pinned: wishes?.allPinned ?? [], unfinished: wishes?.unfinishedBefore ?? [])
        shared = Lock(HydratorState(machine: machine))
    }

    /// Opens an item that carries a file. No waiting: bytes are looked for by the first read, and at a stored
    /// copy that is at hand one look is taken, whether it is still the one that was checked. Every call is
    /// answered by one `close`.
    public func open(_ item: ChatItem) -> HydratedFile {
        guard let file = item.file else { preconditionFailure("an item without a file was opened") }
        let outdated = outdatedGeneration(of: file.id)
        transact { machine, now in
            machine.open(item, file, now: now)
            let actions = outdated.map { machine.outdated(file.id, $0) } ?? []
            return actions + machine.update(item, now: now) + machine.completeAgain(file.id)
        }
        return HydratedFile(
            hydrator: self, file: file.id, size: file.size, wasOutdated: outdated != nil)
    }

    /// What the core said about an item: its new status and source.
    public func update(_ item: ChatItem) {
        transact { machine, now in machine.update(item, now: now) }
    }

    /// The item is deleted. Open readers keep the bytes that are here; what is missing is ENODATA for
    /// them. `atOnce` takes those bytes too, for what disappears or was moderated.
    public func remove(_ file: FileID, atOnce: Bool = false) {
        transact { machine, _ in machine.remove(file, atOnce: atOnce) }
    }

    /// From memory, at once.
    public func condition(of file: FileID) -> HydrationCondition {
        let now = now
        return shared.withLock { $0.machine.condition(of: file, now: now) }
    }

    /// Changes from now on, until the stream is dropped or the hydrator shut down.
    public func changes() -> AsyncStream<HydrationChange> {
        let (stream, continuation) = AsyncStream.makeStream(of: HydrationChange.self)
        let number = shared.withLock { shared in
            let number = shared.number()
            if shared.isLeaving { return number }
            shared.listeners[number] = continuation
            return number
        }
        continuation.onTermination = { [weak self] _ in
            self?.shared.withLock { $0.listeners[number] = nil }
        }
        return stream
    }

    /// Answers everyone who waits, stops downloads, gives unfinished claims back and removes the cache.
    public func shutDown() async {
        let (waiters, tasks, contents, listeners) = shared.withLock { shared in
            shared.isLeaving = true
            defer {
                shared.waiters = [:]
                shared.contents = [:]
                shared.listeners = [:]
                shared.machine.entries = [:]
                shared.machine.rotation = []
            }
            return (shared.waiters, shared.tasks, shared.contents, shared.listeners)
        }
        for waiter in waiters.values { waiter.resume(returning: .failed(.leaving)) }
        for listener in listeners.values { listener.finish() }
        for case .chunks(let download) in contents.values { download.pass.stop() }
        for task in tasks.values { task.cancel() }
        for task in tasks.values { await task.value }
        for (file, content) in contents {
            if case .chunks = content { await core.abandonClaim(file, problem: nil) }
        }
        let cache = cache
        await ThreadPool.shared.run { cache.remove() }
    }
}
