import Base
import ChatCore
import Cryptography
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
    }

    enum WaitOutcome: Sendable {
        case ready
        case failed(FileProblem)
        case cancelled
    }

    private struct Shared {
        var machine: HydrationMachine
        var contents: [FileID: Content] = [:]
        var waiters: [HydrationMachine.WaiterID: CheckedContinuation<WaitOutcome, Never>] = [:]
        var tasks: [UInt64: Task<Void, Never>] = [:]
        var listeners: [UInt64: AsyncStream<HydrationChange>.Continuation] = [:]
        var lastNumber: UInt64 = 0
        var isTicking = false
        var isLeaving = false

        mutating func number() -> UInt64 {
            lastNumber += 1
            return lastNumber
        }
    }

    let core: any ChatCore
    let cache: BlockCache
    let makeSource: SourceMaker
    let log = Log("hydration")
    let settings: HydrationSettings
    let pins: PinnedFiles?
    let verified = VerifiedFiles()
    private let shared: Lock<Shared>
    private let start = ContinuousClock.now
    /// How often deadlines are looked at while somebody waits, and while nobody does but something is to
    /// be tried again.
    private static let tick = Duration.milliseconds(50)
    private static let slowTick = Duration.milliseconds(500)

    /// - Parameters:
    ///   - cacheFolder: for this hydrator alone; emptied now and by `shutDown`.
    ///   - pins: where pinned files are remembered; without, they are for this hydrator's life.
    ///   - makeSource: how claimed files are fetched.
    public init(
        core: any ChatCore, cacheFolder: PrivateFolder, settings: HydrationSettings = HydrationSettings(),
        pins: PinnedFiles? = nil, makeSource: @escaping SourceMaker
    ) throws(HydrationError) {
        self.core = core
        self.makeSource = makeSource
        self.settings = settings
        self.pins = pins
        cache = try BlockCache(folder: cacheFolder, settings: settings)
        shared = Lock(Shared(machine: HydrationMachine(settings: settings, pinned: pins?.all ?? [])))
    }

    // MARK: - For the file system

    /// Opens an item that carries a file. No I/O, no waiting; bytes are looked for by the first read.
    /// Every call is answered by one `close`.
    public func open(_ item: ChatItem) -> HydratedFile {
        guard let file = item.file else { preconditionFailure("an item without a file was opened") }
        transact { machine, now in
            machine.open(item, file, now: now)
            return machine.update(item, now: now) + machine.completeAgain(file.id)
        }
        return HydratedFile(hydrator: self, file: file.id, size: file.size)
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

    // MARK: - For HydratedFile

    func close(_ file: FileID) {
        transact { machine, now in machine.close(file, now: now) }
    }

    func read(
        _ file: FileID, _ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer
    ) -> ImmediateRead {
        let now = now
        let (place, content, generation, actions) = shared.withLock { shared in
            let (place, actions) =
                shared.isLeaving ? (.failed(.leaving), []) : shared.machine.locate(file, range, now: now)
            return (
                place, shared.contents[file], shared.machine.entries[file]?.generation ?? 0, actions
            )
        }
        if !actions.isEmpty { carryOut(actions) }
        do {
            switch (place, content) {
            case (.failed(let problem), _): return .failed(problem)
            case (.notYet, _): return .notYet
            case (.whole, .whole(let whole)):
                return .filled(try whole.read(into: buffer, at: range.lowerBound))
            case (.stream(let start), .chunks(let download)):
                if try download.stream.read(into: buffer, at: start) { return .filled(buffer.count) }
                lose(file, generation, download, start..<start + UInt64(buffer.count))
                return .notYet
            case (.whole, _), (.stream, _):
                // Between two steps of a change: the next look finds them in line.
                return .notYet
            }
        } catch {
            return .failed(FileProblem(error))
        }
    }

    /// Waits until what is wanted is at hand or cannot be had.
    func wait(for file: FileID, _ goal: HydrationMachine.Goal, patience: Duration) async -> WaitOutcome {
        let number = shared.withLock { $0.number() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isLeaving = shared.withLock { shared in
                    if !shared.isLeaving { shared.waiters[number] = continuation }
                    return shared.isLeaving
                }
                if isLeaving { return continuation.resume(returning: .failed(.leaving)) }
                transact { machine, now in
                    machine.wait(number, file, for: goal, patience: patience, now: now)
                }
                if Task.isCancelled { giveUp(number, file) }
            }
        } onCancel: {
            giveUp(number, file)
        }
    }

    private func giveUp(_ waiter: HydrationMachine.WaiterID, _ file: FileID) {
        let continuation = shared.withLock { shared in
            shared.machine.leave(waiter, file)
            return shared.waiters.removeValue(forKey: waiter)
        }
        continuation?.resume(returning: .cancelled)
    }

    /// Parts of a range could not be read back: what is still there of their chunks goes too, and they are
    /// fetched again when somebody wants them.
    private func lose(
        _ file: FileID, _ generation: UInt64, _ download: Download, _ range: Range<UInt64>
    ) {
        let chunks = download.stream.layout.chunks(range)
        spawn { hydrator in
            await ThreadPool.shared.run { for chunk in chunks { download.stream.forget(chunk) } }
            hydrator.transact { machine, now in
                for chunk in chunks { machine.lost(file, generation, chunk: chunk) }
                return machine.schedule(now: now) + [.changed(file)]
            }
        }
    }

    // MARK: - Carrying out what the machine decides

    var now: Duration { ContinuousClock.now - start }

    /// One step of the machine and what follows from it.
    func transact(_ step: (inout HydrationMachine, Duration) -> [HydrationMachine.Action]) {
        let now = now
        var resumptions: [(CheckedContinuation<WaitOutcome, Never>, WaitOutcome)] = []
        // Contents close files when they go: not under the lock.
        var released: [Content] = []
        let (actions, startsTicking) = shared.withLock { shared in
            let actions = shared.isLeaving ? [] : step(&shared.machine, now)
            for action in actions {
                switch action {
                case .wake(let waiter, let problem):
                    guard let continuation = shared.waiters.removeValue(forKey: waiter) else { continue }
                    resumptions.append((continuation, problem.map(WaitOutcome.failed) ?? .ready))
                case .drop(let file):
                    if let content = shared.contents.removeValue(forKey: file) { released.append(content) }
                default: break
                }
            }
            let startsTicking = !shared.isTicking && !shared.isLeaving && shared.machine.needsTicks
            if startsTicking { shared.isTicking = true }
            return (actions, startsTicking)
        }
        for (continuation, outcome) in resumptions { continuation.resume(returning: outcome) }
        withExtendedLifetime(released) {}
        carryOut(actions)
        if startsTicking { spawn { await $0.keepTicking() } }
    }

    private func carryOut(_ actions: [HydrationMachine.Action]) {
        for action in actions {
            switch action {
            case .prepare(let file, let generation):
                spawn { await $0.prepare(file, generation) }
            case .fetch(let file, let generation, let chunk):
                spawn { await $0.fetch(file, generation, chunk) }
            case .pass(let file, let generation):
                spawn { await $0.passAgain(file, generation) }
            case .complete(let file, let generation):
                spawn { await $0.complete(file, generation) }
            case .abandon(let file, let problem):
                spawn { await $0.core.abandonClaim(file, problem: problem) }
            case .changed(let file): tell(.conditionChanged(file))
            case .invalidated(let file): tell(.contentInvalid(file))
            case .wake, .drop: break
            }
        }
    }

    /// A task that `shutDown` cancels and awaits.
    func spawn(_ work: @escaping @Sendable (Hydrator) async -> Void) {
        shared.withLock { shared in
            guard !shared.isLeaving else { return }
            let number = shared.number()
            shared.tasks[number] = Task {
                await work(self)
                self.shared.withLock { $0.tasks[number] = nil }
            }
        }
    }

    private func tell(_ change: HydrationChange) {
        let listeners = shared.withLock { Array($0.listeners.values) }
        for listener in listeners { listener.yield(change) }
    }

    private func keepTicking() async {
        var isAwaited = true
        while (try? await Task.sleep(for: isAwaited ? Self.tick : Self.slowTick)) != nil {
            transact { machine, now in machine.tick(now: now) }
            let goesOn = shared.withLock { shared in
                shared.isTicking = shared.machine.needsTicks
                isAwaited = !shared.waiters.isEmpty
                return shared.isTicking
            }
            if !goesOn { return }
        }
    }

    func withMachine<Result>(_ body: (HydrationMachine) -> Result) -> Result {
        shared.withLock { body($0.machine) }
    }

    /// The streams of all downloads.
    func streams() -> [(file: FileID, generation: UInt64, id: UInt64)] {
        shared.withLock { shared in
            shared.contents.compactMap { file, content in
                guard case .chunks(let download) = content, let entry = shared.machine.entries[file] else {
                    return nil
                }
                return (file, entry.generation, download.stream.id)
            }
        }
    }

    /// Where the content begins in the stream of a download.
    func contentOffset(of file: FileID) -> UInt64? {
        withMachine { machine in
            guard case .chunks(let download) = machine.entries[file]?.phase else { return nil }
            return download.contentOffset
        }
    }

    /// The item as it stands and its content, when the attempt is still the present one.
    func state(of file: FileID, _ generation: UInt64) -> (item: ChatItem, file: ChatFile, content: Content?)?
    {
        shared.withLock { shared in
            guard let entry = shared.machine.entries[file], entry.generation == generation else { return nil }
            return (entry.item, entry.file, shared.contents[file])
        }
    }

    /// Puts content in place together with the step that makes it visible. False: the attempt is over.
    func install(
        _ content: Content?, for file: FileID, _ generation: UInt64,
        _ step: (inout HydrationMachine, Duration) -> [HydrationMachine.Action]
    ) -> Bool {
        var released: Content?
        let isPresent = shared.withLock { shared in
            guard !shared.isLeaving, shared.machine.entries[file]?.generation == generation else {
                return false
            }
            if let content {
                released = shared.contents.updateValue(content, forKey: file)
            }
            return true
        }
        withExtendedLifetime(released) {}
        if isPresent { transact(step) }
        return isPresent
    }
}
