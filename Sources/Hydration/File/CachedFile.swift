import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// One file that is open, retained or has blocks in the cache, with a lock of its own: performs what its machine
/// decides. Any thread. The lock is held for steps of the machine only; a read of bytes that are available takes
/// no lock that other files share, unless it moves the window that is read ahead.
///
/// Lock order: a file's own, then the ticker's, then the scheduler's; the retention requests' is a leaf. Never two
/// files' at once.
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
        /// What the scheduler was told last.
        var requests: (download: Download, requests: FetchRequests)?
        var isTicking = false
        /// As it was told last.
        var isReceiving = false
    }

    /// What is to follow a step, outside of the lock.
    private struct Aftermath {
        var effects: [Machine.Effect] = []
        var answers: [(CheckedContinuation<WaitResult, Never>, WaitResult)] = []
        /// Content that is let go of closes files.
        var released: Machine.Phase.Content?
        var schedules = false
        var startsTicking = false
        /// It began, or ended, to be received, and no effect says so.
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
        state = Lock(State(machine: machine), rank: .cachedFile)
    }

    // MARK: - Reading

    /// Answers when every byte of the range, which must not reach beyond the end, is available.
    /// - Parameter counts: whether somebody reads who may go on, and may have more of the file.
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
            // Looking for what to fetch takes longer than all else here, and most reads change nothing.
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
            // Whoever reads next has it checked anew, and what is damaged is not served.
            whole.forgetCheck(context.verified)
            step { machine, _ in machine.outdated(whole) }
            return .pending
        }
    }

    private func read(
        _ download: Download, at position: UInt64, into buffer: UnsafeMutableRawBufferPointer
    ) throws -> ReadResult {
        do {
            if try download.stream.read(into: buffer, at: position) { return .filled(buffer.count) }
        } catch let damage as DamagedChunks {
            FileCompletion(of: self, download).fetchAgain(damage.chunks)
            return .pending
        }
        // What is still there of these chunks goes too, at once, or the reader would be sent to the same place.
        let chunks = Array(download.layout.chunks(position..<position + UInt64(buffer.count)))
        for chunk in chunks { download.stream.forget(chunk) }
        step { machine, _ in machine.lost(download, chunks) }
        return .pending
    }

    /// Waits until what is wanted is available or cannot be had.
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

    /// A complete copy, checked; nil while there is none.
    var whole: WholeContent? {
        state.withLock { state in
            if case .whole(let whole, _) = state.machine.phase { whole } else { nil }
        }
    }

    /// Whether the core's copy that is served is not where it was. Asks the disk at most twice.
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

    /// For the steps of drivers and for tests: the machine as it is at this moment.
    func withMachine<Result>(_ body: (Machine) -> Result) -> Result { state.withLock { body($0.machine) } }

    // MARK: - Steps

    /// One step of the machine and what follows from it.
    func step(_ event: (inout Machine, Duration) -> [Machine.Effect]) {
        step(event, registering: { _ in })
    }

    private func step(
        _ event: (inout Machine, Duration) -> [Machine.Effect], registering register: (inout State) -> Void
    ) {
        let now = context.now
        let aftermath = state.withLock { state in
            register(&state)
            let before = state.machine.phase.content
            let effects = event(&state.machine, now)
            var aftermath = settle(&state, effects, now: now)
            aftermath.released = before
            return aftermath
        }
        carryOut(aftermath)
    }

    /// The scheduler has granted a fetch, and looks for the next one itself. False when it is not wanted any more.
    func started(_ download: Download, _ chunk: Int) -> Bool {
        state.withLock { state in
            defer { _ = settle(&state, [], now: context.now) }
            return state.machine.started(download, chunk)
        }
    }

    /// Bytes of a chunk are coming. Often: nothing follows from it but longer deadlines.
    func progressed(_ download: Download, _ chunk: Int) {
        state.withLock { $0.machine.progressed(download, chunk, now: context.now) }
    }

    /// The download that this is the pipeline of, as long as it is the present one.
    func download(of pipeline: StoragePipeline) -> Download? {
        state.withLock { state in
            guard case .chunks(let download, _) = state.machine.phase, download.pipeline === pipeline else {
                return nil
            }
            return download
        }
    }

    /// Takes it out of the cache; false when it is in use.
    func evict(invalidates: Bool) -> Bool {
        var isDone = false
        step { machine, _ in
            let effects = machine.evict(invalidates: invalidates)
            isDone = effects != nil
            return effects ?? []
        }
        return isDone
    }

    /// Whether somebody waits, who is to be answered in time.
    func tick() -> Bool {
        var isAwaited = false
        step { machine, now in
            defer { isAwaited = !machine.waiting.isEmpty }
            return machine.tick(now: now)
        }
        return isAwaited
    }

    /// Under the lock: what has to be in step with the machine.
    private func settle(_ state: inout State, _ effects: [Machine.Effect], now: Duration) -> Aftermath {
        var aftermath = Aftermath(effects: effects)
        for effect in effects {
            switch effect {
            case .answer(let id, let problem):
                guard let reader = state.readers.removeValue(forKey: id) else { continue }
                aftermath.answers.append((reader, problem.map(WaitResult.failed) ?? .available))
            case .retainUnfinished(let isUnfinished): context.retention.setUnfinished(id, isUnfinished)
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

    /// Tells the scheduler what is wanted now, if that is something else than before.
    private func publish(_ state: inout State, now: Duration) -> Bool {
        let wanted = state.machine.fetchRequests(now: now)
        let before = state.requests
        if let before, before.download !== wanted?.download {
            context.transfers.remove(Transfer(file: self, download: before.download))
        }
        guard let (download, layout, requests) = wanted else {
            state.requests = nil
            return before != nil
        }
        if let before, before.download === download, before.requests == requests { return false }
        state.requests = (download, requests)
        context.transfers.update(Transfer(file: self, download: download), layout, requests)
        return true
    }

    private func carryOut(_ aftermath: Aftermath) {
        for (reader, result) in aftermath.answers { reader.resume(returning: result) }
        for effect in aftermath.effects { carryOut(effect) }
        if aftermath.tellsCondition, !aftermath.effects.contains(where: \.isConditionChange) {
            context.changes.send(.conditionChanged(id))
        }
        if aftermath.startsTicking { context.ticker.run(for: context.transfers) }
        if aftermath.schedules { context.transfers.schedule() }
    }

    private func carryOut(_ effect: Machine.Effect) {
        let context = context
        switch effect {
        case .prepare(let preparation):
            context.tasks.spawn { await FilePreparation(of: self, preparation).run() }
        case .resumeStorage(let download): context.tasks.spawn { download.pipeline.resume() }
        case .complete(let download):
            context.tasks.spawn { await FileCompletion(of: self, download).run() }
        case .erase(let content):
            context.tasks.spawn { await ThreadPool.shared.run { content.erase() } }
        case .abandonClaim(let problem):
            context.tasks.spawn { [id] in await context.core.abandonClaim(id, problem: problem) }
        case .retainUnfinished: context.retention.save(in: context.tasks)
        case .conditionChanged: context.changes.send(.conditionChanged(id))
        case .contentInvalid: context.changes.send(.contentInvalid(id))
        case .retired: context.registry.remove(self)
        case .answer: break
        }
    }
}

extension FilePhase<Download, WholeContent>.Content {
    /// Gives its place back now, whoever still holds it: a chunk on its way, or the kernel, which reads a
    /// plain copy by itself and finds nothing from then on. Blocks on the disk.
    func erase() {
        switch self {
        case .chunks(let download):
            download.pipeline.stop()
            for chunk in 0..<download.layout.count { download.stream.forget(chunk) }
        case .whole(let whole): whole.erase()
        }
    }
}
