import Base
import ChatCore
import Cryptography
import Glibc
import Posix

// What the outbox does by itself: it replays the journal, stages what is quiet, drops what was left
// alone, and closes.
extension Outbox {
    /// Staged together: one durable transaction for many small files, none of them waits for a big one.
    private static let mostInGroup = 64
    private static let mostBytesInGroup: UInt64 = 8 << 20
    private static let mostLanes = 2
    private static let retryStaging = Duration.seconds(10)

    // MARK: - Start

    /// Makes the drafts of what the journal knows. What was being written when the process stopped is
    /// recovered; so is what was closed before a power cut that may have taken bytes of it.
    func readJournal() throws {
        var recovered: [Journal.Entry] = []
        var dropped: [Int64] = []
        for var entry in try room.journal.entries() {
            if entry.state == .recovered, case .success(0) = sizeInSpool(of: entry) {
                dropped.append(entry.id)
                continue
            }
            let isComplete = entry.state != .open && (entry.isDurable || entry.boot == room.boot)
            if [.open, .closed].contains(entry.state) && !isComplete {
                let isNoted: Bool
                switch sizeInSpool(of: entry) {
                case .success(0):
                    dropped.append(entry.id)
                    continue
                case .success(let size):
                    entry.size = size
                    entry.problem = "This file was still being written when ChatFS stopped. It was not sent."
                    isNoted = true
                case .failure(let error):
                    // Its row stays as it is: the next start looks again.
                    entry.problem =
                        "This file was still being written when ChatFS stopped, and cannot be read at present: "
                        + error.sentence
                    room.log.warning("an unfinished draft cannot be read at present: \(error.sentence)")
                    isNoted = false
                }
                entry.state = .recovered
                entry.touched = room.seen.seconds
                if isNoted { recovered.append(entry) }
            }
            keep(entry)
        }
        // The names of what was never synchronised; the rows say that it is here.
        if !recovered.isEmpty { try room.spool.synchronise() }
        try room.journal.apply(recovered, removing: dropped)
        try room.spool.sweep(keeping: Set(drafts().map { $0.record.withLock { $0.entry.spool } }))
        try room.staging.sweep(
            keeping: Set(drafts().compactMap { $0.record.withLock { $0.entry.staged?.folder } }),
            sendsBefore: room.clock.now().advanced(by: .seconds(-86_400)))
    }

    /// Bytes that an unfinished draft has, 0 when its file is surely not there. They are durable from here on.
    private func sizeInSpool(of entry: Journal.Entry) -> Result<UInt64, OutboxError> {
        do {
            let file = try room.spool.open(entry.spool, key: entry.key)
            if file.size > 0 { try file.synchronise() }
            return .success(file.size)
        } catch let error as SystemError where error.code == ENOENT {
            return .success(0)
        } catch {
            return .failure(OutboxError(beneath: error))
        }
    }

    private func keep(_ entry: Journal.Entry) {
        let phase: Draft.Phase =
            switch entry.state {
            case .open, .closed: .draft
            case .queued: .queued
            case .sent: .sent
            case .failed: .failed
            case .unsure: .unsure
            case .recovered: .recovered
            }
        let draft = Draft(entry, phase: phase, mayBeHandedOver: phase == .queued, room: room)
        state.withLock { state in
            state.drafts[draft.id] = draft
            state.found.append(draft)
            if phase != .recovered { state.names[NameInChat(chat: entry.chat, name: entry.name)] = draft }
        }
    }

    /// Begins to send: what the journal holds first. Returns at once. Who needs to see every change opens
    /// `changes` before.
    public func start() {
        ThreadPool.shared.submit { [self] in
            // Not what was made since: that has its writer.
            let found = state.withLock { state in
                defer { state.found = [] }
                return state.found
            }
            // All have their place before the first goes.
            for draft in found { draft.settleAgain() }
            for draft in found { draft.enterAgain() }
            courier.take(found)
            let sent = found.filter { $0.state == .sent }
            if !sent.isEmpty { Task { await self.announce(sent) } }
            keepHouse()
        }
    }

    /// What the core refused for now is handed over at once: what stood in the way has passed.
    public func retryPostponed() { courier.retryPostponed() }

    /// Sent by an earlier process that nobody told the file system about.
    private func announce(_ sent: [Draft]) async {
        for draft in sent {
            guard let id = draft.record.withLock({ $0.entry.item }) else { continue }
            do throws(ChatError) {
                room.news.send(.became(draft, try await core.item(id, in: draft.chat)))
            } catch  where [.noSuchItem, .noSuchChat].contains(error.code) {
                // Deleted since.
                await ThreadPool.shared.run {
                    self.attempt("forget a file whose message is gone") { try self.acknowledge(draft) }
                }
                room.news.send(.removed(draft))
            } catch {
                room.log.warning("a sent file is announced at the next start: \(error.sentence)")
            }
        }
    }

    private func attempt(_ deed: String, _ body: () throws -> Void) {
        do {
            try body()
        } catch {
            room.log.warning("could not \(deed): \(sentenceWithCauses(of: error))")
        }
    }

    /// Looks after what was left alone, now and every hour.
    private func keepHouse() {
        countUp()
        for draft in drafts() {
            do {
                try lookAfter(draft)
            } catch {
                room.log.warning("a draft that was left alone stays for another hour: \(error.sentence)")
            }
        }
        clock.call(after: SeenTime.step) { [weak self] in
            guard let self else { return }
            ThreadPool.shared.submit { self.keepHouse() }
        }
    }

    private func countUp() {
        do {
            try room.journal.note(seen: room.seen.countUp())
        } catch {
            // Drafts stay a little longer.
            room.log.notice("the age of drafts could not be noted: \(Base.sentence(of: error))")
        }
    }

    private func lookAfter(_ draft: Draft) throws(OutboxError) {
        // Most are not due: nobody waits for their turn. Who is, is asked again in it.
        guard draft.dueFate != nil else { return }
        let change = try naming.with { () throws(OutboxError) -> OutboxChange? in
            try draft.turn.with { () throws(OutboxError) -> OutboxChange? in
                switch draft.dueFate {
                case nil: return nil
                case .removal:
                    try described { try draft.noteRemoved() }
                    forget(draft)
                    return .removed(draft)
                case .recovery:
                    try described { try draft.noteRecovered() }
                    // Its name in the chat is free.
                    forget(draft)
                    state.withLock { $0.drafts[draft.id] = draft }
                    return .recovered(draft)
                }
            }
        }
        if let change { room.news.send(change) }
    }

    // MARK: - Staging

    /// These are closed and quiet: copies them on threads of the pool, then has them handed over.
    func stage(_ drafts: [Draft]) {
        let startsLane = state.withLock { state in
            if state.isClosed { return false }
            state.toStage += drafts
            guard state.lanes < Self.mostLanes else { return false }
            state.lanes += 1
            return true
        }
        if startsLane { ThreadPool.shared.submit { self.runLane() } }
    }

    private func runLane() {
        while true {
            let (group, hasMore) = state.withLock { state in
                let group = Self.takeGroup(from: &state.toStage)
                return (group, !state.toStage.isEmpty)
            }
            if group.isEmpty { break }
            // A big file does not hold up what comes after it.
            if hasMore { stage([]) }
            core.expectToSend(group.map(\.snapshot.size).max() ?? 0)
            let outcome = stager.queue(group)
            courier.take(outcome.queued)
            if !outcome.later.isEmpty {
                clock.call(after: Self.retryStaging) { [weak self] in self?.stage(outcome.later) }
            }
        }
        let waiting = state.withLock { state in
            state.lanes -= 1
            guard state.lanes == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.whenStaged = [] }
            return state.whenStaged
        }
        for continuation in waiting { continuation.resume() }
    }

    private static func takeGroup(from drafts: inout [Draft]) -> [Draft] {
        var bytes: UInt64 = 0
        let group = drafts.prefix(mostInGroup).prefix { draft in
            bytes += min(draft.snapshot.size, mostBytesInGroup)
            return bytes <= mostBytesInGroup
        }
        // A big one goes alone.
        let taken = group.isEmpty ? drafts.prefix(1) : group
        defer { drafts.removeFirst(taken.count) }
        return Array(taken)
    }

    // MARK: - End

    /// Queues closed drafts at once, without quiet time, and waits until all are handed over that can be
    /// at present; what the core refuses for now is sent at the next start. Drafts that still have a
    /// writer are sent after the next start if they are closed before the process ends, else recovered.
    public func shutDown() async {
        state.withLock { $0.isShuttingDown = true }
        room.quiet.end()
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if state.lanes > 0 { state.whenStaged.append(continuation) }
                return state.lanes == 0
            }
            if isIdle { continuation.resume() }
        }
        await room.order.becomeIdle()
        await ThreadPool.shared.run { self.countUp() }
        state.withLock { $0.isClosed = true }
        room.news.finish()
    }

    /// How many files wait to be handed over: after `shutDown` those that the next mount sends.
    public var waiting: Int { drafts().count { $0.isWaiting } }

    /// The same of an outbox that no process has open, in its folder. Blocks.
    public static func waiting(inFolder path: String) throws(OutboxError) -> Int {
        try described {
            let journal = try Journal(path: path + "/journal.sqlite", random: SystemRandomSource())
            defer { journal.close() }
            return try journal.entries().count { $0.isWaiting }
        }
    }

    /// After `shutDown`, when everything it handed over has been acknowledged: closes the journal. Blocks.
    public func close() { room.journal.close() }
}
