import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import XFTP

/// The driver of a file that is open, retained or cached: it performs the effects of its `FileMachine`.
/// Thread-safe. The lock is held for steps of the machine only. Reads of available bytes take no lock shared
/// with other files unless they move the read-ahead window.
///
/// Lock order: file, ticker, scheduler; the lock of `RetentionRequests` is a leaf. A thread never holds the
/// locks of two files.
final class CachedFile: Sendable {
    typealias Machine = FileMachine<Download, WholeContent>

    enum WaitResult: Sendable {
        case available
        case failed(FileProblem)
        case cancelled
    }

    private struct State {
        var machine: Machine
        var readers: [WaitingReaders.ID: CheckedContinuation<WaitResult, Never>] = [:]
        var lastReader: WaitingReaders.ID = 0
        /// As last sent to the scheduler.
        var requests: (fetches: ChunkFetches, requests: FetchRequests)?
        var isTicking = false
        /// As last reported.
        var isReceiving = false
    }

    /// Work after a step, outside the lock.
    private struct Aftermath {
        var effects: [Machine.Effect] = []
        var answers: [(CheckedContinuation<WaitResult, Never>, WaitResult)] = []
        /// Content whose release closes files.
        var released: Machine.Phase.Content?
        /// Chunks that no mount continues.
        var dropped: ChunkStore?
        /// For giving up the claim, before the next claim of the file.
        var claimTurn: AsyncKeyedMutex<FileID>.Turn?
        var schedules = false
        var startsTicking = false
        /// True if receiving started or ended without an effect that reports it.
        var tellsCondition = false
    }

    let id: FileID
    let context: HydrationContext
    private let state: Lock<State>

    init(_ item: ChatItem, _ file: ChatFile, in context: HydrationContext) {
        id = file.id
        self.context = context
        let machine = Machine(
            item, file, retention: context.retention.of(file.id), settings: context.settings,
            now: context.now)
        state = Lock(State(machine: machine), rank: .chunkRequester)
    }

    // MARK: - Reading

    /// Returns bytes if the whole range is available. The range must end within the file.
    /// - Parameter counts: If true, the read counts for read-ahead and for receiving the whole file.
    func read(
        _ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer, counts: Bool = true
    ) -> ReadResult {
        let target = locate(range, counts)
        do {
            switch target {
            case .failed(let problem): return .failed(problem)
            case .pending: return .pending
            case .whole(let whole): return try read(whole, at: range.lowerBound, into: buffer)
            case .chunks(let download, let position):
                return try read(download, at: position, into: buffer)
            }
        } catch {
            return .failed(FileProblem(error))
        }
    }

    private func locate(_ range: Range<UInt64>, _ counts: Bool) -> Machine.Target {
        var aftermath = Aftermath()
        let target = state.withLock { state in
            let located = state.machine.locate(range, counts: counts, now: context.now)
            // Scheduling is the most expensive step here, and most reads do not change it.
            if located.movesOn { aftermath = settle(&state, located.effects, now: context.now) }
            return located.target
        }
        carryOut(aftermath)
        return target
    }

    private func read(
        _ whole: WholeContent, at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer
    ) throws -> ReadResult {
        do {
            return try whole.read(into: buffer, at: offset)
        } catch let error as CryptographyError where error.isDamage {
            // The next reader verifies the copy again, so damaged bytes are never returned.
            whole.forgetCheck(of: id, context.verified)
            step { machine, _ in machine.outdated(whole) }
            return .pending
        }
    }

    private func read(
        _ download: Download, at position: UInt64, into buffer: UnsafeMutableRawBufferPointer
    ) throws -> ReadResult {
        do {
            if try download.store.read(into: buffer, at: position) { return .filled(buffer.count) }
        } catch let damage as DamagedChunks {
            FileCompletion(of: self, download).fetchAgain(damage.chunks)
            return .pending
        }
        let chunks = download.layout.chunks(position..<position + UInt64(buffer.count))
            .filter { !download.store.holds($0) }
        for chunk in chunks { download.store.forget(chunk) }
        step { machine, _ in machine.lost(download, chunks) }
        return .pending
    }

    /// Waits until the goal is reached or fails.
    func wait(for goal: WaitingReaders.Goal, timeout: Duration) async -> WaitResult {
        let id = state.withLock { state in
            state.lastReader += 1
            return state.lastReader
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                step { machine, now in
                    machine.wait(id, for: goal, timeout: timeout, now: now)
                } registering: {
                    $0.readers[id] = continuation
                }
                if Task.isCancelled { giveUp(id) }
            }
        } onCancel: {
            giveUp(id)
        }
    }

    private func giveUp(_ id: WaitingReaders.ID) {
        var reader: CheckedContinuation<WaitResult, Never>?
        step { machine, _ in
            machine.leave(id)
            return []
        } registering: {
            reader = $0.readers.removeValue(forKey: id)
        }
        reader?.resume(returning: .cancelled)
    }

    /// The verified complete copy, if there is one.
    var whole: WholeContent? {
        state.withLock { state in
            if case .whole(let whole, _) = state.machine.phase { whole } else { nil }
        }
    }

    /// True if the core's copy in use was deleted or changed. At most two system calls.
    var isCopyDeleted: Bool {
        let (whole, path) = state.withLock { state -> (WholeContent?, String?) in
            guard case .whole(let whole, _) = state.machine.phase else { return (nil, nil) }
            return (whole, state.machine.file.source?.path)
        }
        guard let whole else { return false }
        return !whole.isUnchanged || path.map { access($0, F_OK) != 0 && errno == ENOENT } ?? false
    }

    // MARK: - Looking at it

    var condition: HydrationCondition {
        state.withLock { $0.machine.condition(now: context.now) }
    }

    /// For drivers and tests: passes the machine in its current state.
    func withMachine<Result>(_ body: (Machine) -> Result) -> Result { state.withLock { body($0.machine) } }

    // MARK: - Steps

    /// Performs one step of the machine and its effects.
    func step(_ event: (inout Machine, Duration) -> [Machine.Effect]) {
        step(event, registering: { _ in })
    }

    /// Answers all readers. Chunks on the disk stay for the next mount. Returns true if the file is claimed.
    func shutDown() -> Bool {
        var isClaimed = false
        step(
            { machine, _ in
                if case .chunks = machine.phase { isClaimed = true }
                return machine.shutDown()
            }, registering: { _ in }, keepsChunks: context.cache.usesDisk)
        return isClaimed
    }

    private func step(
        _ event: (inout Machine, Duration) -> [Machine.Effect], registering register: (inout State) -> Void,
        keepsChunks: Bool = false
    ) {
        let now = context.now
        let aftermath = state.withLock { state in
            register(&state)
            let before = state.machine.phase.content
            let effects = event(&state.machine, now)
            var aftermath = settle(&state, effects, now: now)
            aftermath.released = before
            if !keepsChunks, case .chunks(let download) = before, !state.machine.phase.isPresent(download) {
                aftermath.dropped = download.store
            }
            return aftermath
        }
        carryOut(aftermath)
    }

    /// Records a fetch granted by the scheduler, which picks the next one itself. Returns false if the chunk
    /// is no longer wanted.
    func started(_ download: Download, _ chunk: Int) -> Bool {
        state.withLock { state in
            defer { _ = settle(&state, [], now: context.now) }
            return state.machine.started(download, chunk)
        }
    }

    /// Extends deadlines when bytes of a chunk arrive. Called often, so it has no other effect.
    func progressed(_ download: Download, _ chunk: Int) {
        state.withLock { $0.machine.progressed(download, chunk, now: context.now) }
    }

    /// Removes the file from the cache. Returns false if it is in use.
    func evict(invalidates: Bool) -> Bool {
        var (isDone, bytes) = (false, UInt64(0))
        step { machine, _ in
            bytes = machine.phase.cachedBytes
            let effects = machine.evict(invalidates: invalidates)
            isDone = effects != nil
            return effects ?? []
        }
        if isDone, bytes > 0 {
            context.reads.noteEviction()
            context.failures.log.information("file evicted: file=\(id.rawValue) bytes=\(bytes)")
        }
        return isDone
    }

    /// Returns true if a reader waits.
    func tick() -> Bool {
        var isAwaited = false
        step { machine, now in
            defer { isAwaited = !machine.waiting.isEmpty }
            return machine.tick(now: now)
        }
        return isAwaited
    }

    /// Brings readers, scheduler and ticker in line with the machine. Called with the lock held.
    private func settle(_ state: inout State, _ effects: [Machine.Effect], now: Duration) -> Aftermath {
        var aftermath = Aftermath(effects: effects)
        for effect in effects {
            switch effect {
            case .answer(let id, let problem):
                guard let reader = state.readers.removeValue(forKey: id) else { continue }
                aftermath.answers.append((reader, problem.map(WaitResult.failed) ?? .available))
            case .retainUnfinished(let isUnfinished): context.retention.setUnfinished(id, isUnfinished)
            case .abandonClaim: aftermath.claimTurn = context.claims.take(id)
            default: break
            }
        }
        aftermath.schedules = publish(&state, now: now)
        let isReceiving = state.machine.isReceiving(with: state.requests?.requests)
        if isReceiving != state.isReceiving {
            state.isReceiving = isReceiving
            aftermath.tellsCondition = true
        }
        let isTicking = state.machine.needsTicks
        if isTicking != state.isTicking {
            state.isTicking = isTicking
            aftermath.startsTicking = context.ticker.set(self, isTicking)
        }
        return aftermath
    }

    /// Sends changed requests to the scheduler. Returns true if it must schedule.
    private func publish(_ state: inout State, now: Duration) -> Bool {
        let wanted = state.machine.fetchRequests(now: now)
        let before = state.requests
        let known = before.flatMap { $0.fetches.download === wanted?.download ? $0 : nil }
        if let before, known == nil { context.transfers.remove(before.fetches) }
        guard let (download, layout, requests) = wanted else {
            state.requests = nil
            return before != nil
        }
        if known?.requests == requests { return false }
        let fetches = known?.fetches ?? ChunkFetches(of: self, download)
        state.requests = (fetches, requests)
        context.transfers.update(fetches, layout, requests)
        return true
    }

    private func carryOut(_ aftermath: Aftermath) {
        for (reader, result) in aftermath.answers { reader.resume(returning: result) }
        for effect in aftermath.effects { carryOut(effect, aftermath.claimTurn) }
        // At once, because an eviction waits for the space.
        aftermath.dropped?.deleteName()
        if aftermath.tellsCondition, !aftermath.effects.contains(where: \.isConditionChange) {
            context.changes.send(.conditionChanged(id))
        }
        if aftermath.startsTicking { context.ticker.run() }
        if aftermath.schedules { context.transfers.schedule() }
    }

    private func carryOut(_ effect: Machine.Effect, _ claimTurn: AsyncKeyedMutex<FileID>.Turn?) {
        let context = context
        switch effect {
        case .prepare(let preparation):
            context.tasks.spawn { await FilePreparation(of: self, preparation).run() }
        case .resumeStorage(let download):
            context.tasks.spawn {
                download.store.resume()
                await ChunkStore.threads.run { ChunkStorage(of: self, download).storeRest() }
            }
        case .complete(let download):
            context.tasks.spawn { await FileCompletion(of: self, download).run() }
        case .erase(let content):
            context.tasks.spawn { await ThreadPool.shared.run { content.erase() } }
        case .abandonClaim(let problem):
            guard let claimTurn else { preconditionFailure("settled without its turn") }
            let task = context.tasks.spawn { [id] in
                await context.claims.begin(claimTurn)
                await context.core.abandonClaim(id, problem: problem)
                context.claims.end(claimTurn)
            }
            if task == nil { context.claims.end(claimTurn) }
        case .retainUnfinished: context.retention.save(in: context.tasks)
        case .conditionChanged: context.changes.send(.conditionChanged(id))
        case .contentInvalid: context.changes.send(.contentInvalid(id))
        case .retired: context.registry.remove(self)
        case .answer: break
        }
    }
}

extension FilePhase<Download, WholeContent>.Content {
    /// Frees the storage at once, even if a running fetch or the kernel still uses it. The kernel reads plain
    /// copies directly and then finds an empty file. Blocks on disk I/O.
    func erase() {
        switch self {
        case .chunks(let download): download.store.erase()
        case .whole(let whole): whole.erase()
        }
    }
}
