import Base
import ChatCore
import Cryptography
import Desktop
import FileSystem
import Glibc
import Hydration
import Keeping
import MessageBus
import Posix
import Synchronization

/// Receives files by the keep rules and reports expiring ones: performs the effects of `KeepPlan`.
///
/// Scans after changes and at times set by the plan, and sleeps otherwise. Files are fetched by the hydrator with a
/// lower priority than readers. A core that receives every claimed file is asked to receive it itself, to avoid a
/// second download. Thread-safe.
final class KeepWorker: Sendable {
    private let core: any ChatCore
    private let elsewhere: KeptElsewhere
    /// Whether the core cannot be reached: files on another machine cannot be brought then.
    private let isAway = Atomic(false)
    private let hydrator: Hydrator
    private let fileSystem: FileSystem
    private let arrivals: ArrivalRule
    private let store: KeepStore
    private let disk: OpenFile
    private let clock: any WallClock
    private let notices: ExpiryNotices
    private let plan: Lock<KeepPlan>
    private let scans = WorkSignal()
    private let effects = AsyncStream<KeepPlan.Effect>.makeStream()
    private let timer: WallTimer
    private let system: SystemWatch
    private let tasks = TaskSet()
    private let log = Log("keep")

    /// Delay of the next scan after a failed one.
    private static let pause = Duration.seconds(60)
    private static let pageSize = 256

    /// - Parameters:
    ///   - system: Reports whether the connection is metered; started if a rule depends on it.
    ///   - folder: Directory of the profile with its rules.
    ///   - key: Encryption key of the rules; nil if not encrypted.
    ///   - arrivals: Follows the rules from now on.
    ///   - whenExpiring: Receives entries that are not local and expire soon or expired since the last scan, each once
    ///     across mounts. Called from a task, one call at a time.
    /// - Throws: An error if the rules cannot be read.
    init(
        core: any ChatCore, hydrator: Hydrator, fileSystem: FileSystem, system: SystemWatch, folder: String,
        key: SecretBytes?, arrivals: ArrivalRule,
        clock: any WallClock = SystemWallClock(),
        whenExpiring: @escaping @Sendable ([EntryDescription]) -> Void = { _ in }
    ) throws {
        (self.core, self.hydrator, self.fileSystem) = (core, hydrator, fileSystem)
        elsewhere = KeptElsewhere(core: core)
        (self.system, self.clock, self.arrivals) = (system, clock, arrivals)
        disk = try OpenFile(folder, flags: O_RDONLY)
        store = try KeepStore(in: folder, key: key)
        notices = ExpiryNotices(store: store, fileSystem: fileSystem, whenExpiring: whenExpiring)
        let rules = try store.rules()
        arrivals.change(to: rules.arrivals)
        plan = Lock(KeepPlan(rules))
        timer = try WallTimer { [scans] in scans.notify() }
    }

    /// Starts. Called once, after the tree is shown.
    func begin() {
        fileSystem.completeStatus { [weak self] status in
            status.keeping = self?.status ?? MountStatus.Keeping(.init())
        }
        let (events, changes, notices) = (core.events(), hydrator.changes(), system.notices())
        tasks.spawn { [self] in for await event in events { take(event) } }
        tasks.spawn { [self] in for await change in changes { take(change) } }
        tasks.spawn { [self] in for await case .metered in notices { wake() } }
        tasks.spawn { [self] in for await effect in effects.stream { await perform(effect) } }
        tasks.spawn { [self] in await scanWhenWoken() }
        wake()
    }

    /// Stops downloads that only rules want; the next mount resumes them.
    func stop() async {
        scans.finish()
        effects.continuation.finish()
        timer.stop()
        await tasks.close()
        await ThreadPool.shared.run { [store] in store.close() }
    }

    // MARK: - Requests

    /// Shows or changes the rules.
    func answer(_ request: KeepRequest) async throws -> [ListedRule] {
        let chats = NamedChats(try await core.chats(), folders: fileSystem.lister.folderNames)
        let editor = KeepRuleEditor(store: store, chats: chats)
        let rules = try await ThreadPool.shared.run { try editor.answer(request) }
        try await readRules()
        return rules
    }

    private func readRules() async throws {
        let rules = try await ThreadPool.shared.run { [store] () throws(KeepingError) in try store.rules() }
        arrivals.change(to: rules.arrivals)
        let isNew = plan.withLock { plan in
            guard plan.rules != rules else { return false }
            plan.change(rules)
            return true
        }
        if isNew { wake() }
    }

    /// Retries after a change, such as an approval of relays.
    func tryAgain() {
        plan.withLock { $0.tryAgain() }
        wake()
    }

    /// Drops a file that the user cancelled.
    func decline(_ item: ChatItem) {
        guard let candidate = KeepCandidate(item) else { return }
        carryOut(plan.withLock { $0.declined(candidate, now: clock.now()) })
    }

    private var status: MountStatus.Keeping { MountStatus.Keeping(plan.withLock(\.counts)) }

    private func wake() { scans.notify() }

    private func take(_ event: ChatEvent) {
        switch event {
        case .newChatItems, .chatItemsDeleted, .itemChanged(_, .updated): wake()
        case .itemChanged(let item, let cause) where item.direction == .received: changed(item, cause)
        case .fileProgress(let progress): progressed(progress.file)
        case .coreUnreachable: isAway.store(true, ordering: .relaxed)
        case .coreReachable:
            isAway.store(false, ordering: .relaxed)
            tryAgain()
        case .chatRemoved(let chat): forget(chat)
        default: break
        }
    }

    private func changed(_ item: ChatItem, _ cause: ItemChange) {
        switch cause {
        case .updated, .described, .accepted: wake()
        case .started: break
        case .completed: completed(item)
        case .cancelledByPeer: ended(item)
        case .failed(let problem):
            if problem.isFinal { ended(item) } else { failed(item.file?.id, problem) }
        // The core retries by itself.
        case .delayed:
            guard let file = item.file?.id else { return }
            carryOut(plan.withLock { $0.handedOver(file, now: clock.now()) })
            wake()
        }
    }

    private func progressed(_ file: FileID) {
        plan.withLock { $0.progressed(file, now: clock.now()) }
    }

    private func completed(_ item: ChatItem) {
        guard let file = item.file?.id else { return }
        let wasKept = plan.withLock { $0.isReceiving(file) }
        ended(item)
        guard wasKept, !core.receivesWhatIsClaimed else { return }
        // A plain copy is not needed. Refused if the file is open.
        Task { [hydrator] in _ = await hydrator.dehydrateWhenSettled(file) }
    }

    private func ended(_ item: ChatItem) {
        guard let file = item.file?.id else { return }
        carryOut(plan.withLock { $0.ended(file, now: clock.now()) })
        wake()
    }

    private func failed(_ file: FileID?, _ problem: FileProblem) {
        guard let file else { return }
        carryOut(plan.withLock { $0.failed(file, KeepObstacle(problem), now: clock.now()) })
        wake()
    }

    private func forget(_ chat: ChatReference) {
        Task { [store, log] in
            do throws(KeepingError) {
                try await ThreadPool.shared.run { () throws(KeepingError) in try store.reset(chat) }
                // Other rules may be outdated, and are read again here or with the next command.
                do { try await readRules() } catch {
                    log.warning("rules not reloaded: error=\(sentence(of: error))")
                }
            } catch {
                log.warning("rule of a deleted chat not removed: error=\(error.sentence)")
            }
        }
    }

    /// Follows the hydrator's progress with a file of the plan.
    private func take(_ change: HydrationChange) {
        guard case .conditionChanged(let file) = change, !core.receivesWhatIsClaimed,
            plan.withLock({ $0.isReceiving(file) })
        else { return }
        let condition = hydrator.condition(of: file)
        if let problem = condition.problem {
            // Permanent: the core knows the problem, or will soon.
            failed(file, problem)
        } else if condition.stage == .idle {
            failed(file, FileProblem(.other, "The cache has no space for the file."))
        } else {
            plan.withLock { $0.progressed(file, now: clock.now()) }
        }
    }

    // MARK: - Effects

    private func carryOut(_ wanted: [KeepPlan.Effect]) {
        for effect in wanted { effects.continuation.yield(effect) }
    }

    private func perform(_ effect: KeepPlan.Effect) async {
        switch effect {
        // In a task, so that a slow core delays neither other effects nor the end.
        case .receive(let candidate): Task { await receive(candidate) }
        case .stop(let file): if !core.receivesWhatIsClaimed { hydrator.stopKeeping(file) }
        case .tell(let candidate): await notices.tell([candidate])
        case .scan: wake()
        }
    }

    private func receive(_ candidate: KeepCandidate) async {
        let file = candidate.file
        // Ended before it began.
        guard plan.withLock({ $0.isReceiving(file) }) else { return }
        do throws(ChatError) {
            guard let item = try await core.item(of: file) else {
                carryOut(plan.withLock { $0.ended(file, now: clock.now()) })
                return
            }
            if item.file?.status.isReadable == true {
                try await elsewhere.bring(item) { [weak self] in self?.progressed(file) }
                return ended(item)
            }
            guard !core.receivesWhatIsClaimed else {
                return try await core.receiveFile(file, approvedRelays: false)
            }
            hydrator.keep(item)
            // Stopped concurrently.
            if !plan.withLock({ $0.isReceiving(file) }) { hydrator.stopKeeping(file) }
        } catch {
            failed(file, FileProblem(error))
        }
    }

    // MARK: - Scans

    private func scanWhenWoken() async {
        for await _ in scans.stream {
            let began = ContinuousClock.now
            do {
                try await scan()
            } catch {
                if Task.isCancelled { return }
                log.warning("scan failed, retrying: error=\(sentence(of: error))")
                timer.set(clock.now().advanced(by: Self.pause))
            }
            // Scanning takes at most a twentieth of the time, even with many changes.
            let pause = max(.milliseconds(100), (ContinuousClock.now - began) * 20)
            guard (try? await Task.sleep(for: pause)) != nil else { return }
        }
    }

    private func scan() async throws {
        let now = clock.now()
        let rules = plan.withLock(\.rules)
        let (last, conditions) = try await ThreadPool.shared.run {
            [store, disk, system] () throws(any Error) in
            if rules.dependsOnCost { system.start() }
            return (
                try store.lastScan() ?? now,
                KeepConditions(isMetered: system.isMetered, free: try disk.availableBytes())
            )
        }
        plan.withLock { $0.beginScan(conditions) }
        var position = ExpiryPosition(Self.beginning(last, now), ItemID(.max))
        // If no rule receives files, only soon expiring ones matter, and the time of the next.
        let horizon = rules.keepsAnything ? nil : now.advanced(by: KeepTimes.notice)
        while true {
            let items = try await core.receivableItems(after: position, count: Self.pageSize)
            let wanted = plan.withLock { plan in
                items.compactMap(KeepCandidate.init).flatMap { plan.consider($0, now: now) }
            }
            await carryOutTogether(wanted)
            guard items.count == Self.pageSize, let end = items.last?.expiryPosition else { break }
            if let horizon, end.time > horizon { break }
            position = end
            try Task.checkCancellation()
        }
        if rules.keepsAnything, !isAway.load(ordering: .relaxed) {
            try await elsewhere.scan { candidates in
                let (wanted, hasEnough) = plan.withLock { plan in
                    (candidates.flatMap { plan.consider($0, now: now) }, plan.hasEnough)
                }
                await carryOutTogether(wanted)
                return !hasEnough
            }
        }
        let (wanted, next) = plan.withLock { plan in (plan.endScan(now: now), plan.nextScan) }
        carryOut(wanted)
        timer.set(next)
        try await ThreadPool.shared.run { [store] () throws(KeepingError) in try store.noteScan(now) }
    }

    /// Returns the start of the scan. Includes files that expired since the last scan, some of which are still tried.
    private static func beginning(_ last: Timestamp, _ now: Timestamp) -> Timestamp {
        max(
            min(last, now.advanced(by: .zero - KeepTimes.grace)),
            now.advanced(by: .zero - KeepTimes.memory))
    }

    /// Performs the effects, with all notices as one.
    private func carryOutTogether(_ wanted: [KeepPlan.Effect]) async {
        var told: [KeepCandidate] = []
        for effect in wanted {
            if case .tell(let candidate) = effect { told.append(candidate) } else { carryOut([effect]) }
        }
        await notices.tell(told)
    }
}
