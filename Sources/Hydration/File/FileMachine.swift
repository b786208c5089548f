import ChatCore

/// One file that is open, retained or has blocks in the cache: where its bytes are, who waits for them, and
/// what is done next. Pure: events go in with the time (counted from the hydrator's start), effects come out
/// for `CachedFile` to carry out.
///
/// The content belongs to the phase, and says by its identity which attempt an answer is of: events that name
/// another preparation, download or copy than the present one are late, and ignored. All else that does not fit
/// the phase is a bug and traps in debug builds. One large type, since every event must see the phase; what is about
/// chunks (`ChunkMap`), who wants them (`FileDemand`) and retries (`RetryState`) has types of its own.
struct FileMachine<Download: AnyObject & Sendable, Whole: AnyObject & Sendable>: Sendable {
    typealias Phase = FilePhase<Download, Whole>
    typealias Effect = FileEffect<Download, Whole>
    typealias Target = ReadTarget<Download, Whole>

    private(set) var phase = Phase.idle
    /// As the core described it last.
    private(set) var item: ChatItem
    private(set) var file: ChatFile
    private(set) var demand: FileDemand
    /// The user had the core's copy of what is served deleted: only who has it open goes on with it.
    private(set) var isCopyDeleted = false
    private var retry = RetryState()
    private let settings: HydrationSettings

    init(
        _ item: ChatItem, _ file: ChatFile, retention: Retention, settings: HydrationSettings, now: Duration
    ) {
        self.item = item
        self.file = file
        self.settings = settings
        demand = FileDemand(retention: retention, now: now)
    }

    var isRetired: Bool { phase.name == .retired }
    var isRemoved: Bool { demand.isRemoved }
    var isRetained: Bool { demand.isRetained }
    var opens: Int { demand.opens }
    var lastUse: Duration { demand.lastUse }
    var waiting: WaitingReaders { demand.waiting }

    // MARK: - Openings

    /// Another opening. nil when the object is retired.
    /// - Parameter outdated: the stored copy, when it was found changed since it was checked.
    mutating func open(_ item: ChatItem, outdated: Whole?, now: Duration) -> [Effect]? {
        guard !isRetired else { return nil }
        demand.opened(now: now)
        // Of a copy that was deleted this is the last one.
        let outdated = isCopyDeleted ? nil : outdated
        return (outdated.map { self.outdated($0) } ?? []) + update(item, now: now) + retryCompletion()
    }

    mutating func close(now: Duration) -> [Effect] {
        guard !isRetired, demand.closed(now: now) else { return [] }
        if case .chunks(_, let chunks) = phase, chunks.isReceivedByCore, file.status.isGivenUp, !isRemoved {
            return takeOver(chunks)
        }
        return letDeletedCopyGo() + retireIfUnused()
    }

    // MARK: - Readers

    /// Where a range of the content is, which must not reach beyond its end.
    /// - Parameter counts: whether more is fetched for a reader who goes on like this.
    /// - Returns: `movesOn` when something else may be worth fetching than before.
    mutating func locate(
        _ range: Range<UInt64>, counts: Bool = true, now: @autoclosure () -> Duration
    ) -> (target: Target, effects: [Effect], movesOn: Bool) {
        switch phase {
        case .whole(let whole, _): return (.whole(whole), [], false)
        case .failed(let problem): return (.failed(problem), [], false)
        case .retired: return (.failed(.leaving), [], false)
        case .idle where isRemoved: return (.failed(.deleted), [], false)
        case .idle, .preparing, .awaitingCore:
            return (retry.answer(now: now()).map(Target.failed) ?? .pending, [], true)
        case .chunks(let download, let chunks):
            let now = now()
            let movesOn = demand.read(range, counts: counts, now: now, chunk: chunks.chunk(at:))
            let effects = counts && demand.wasReadOn(chunks) ? retainUnfinished() : []
            if let position = chunks.position(of: range) {
                return (.chunks(download, position: position), effects, movesOn || !effects.isEmpty)
            }
            return (chunks.problem(for: range, now: now).map(Target.failed) ?? .pending, effects, true)
        }
    }

    /// A reader waits. It is answered at once or later, at the latest when `timeout` has passed without a byte
    /// arriving of the chunks that it needs, or 20 times that in all; while the core fetches the whole, since it
    /// last had more of it.
    mutating func wait(
        _ id: WaitingReaders.ID, for goal: WaitingReaders.Goal, timeout: Duration, now: Duration
    ) -> [Effect] {
        if isRetired { return [.answer(id, .leaving)] }
        if let problem = retry.answer(now: now) { return [.answer(id, problem)] }
        if case .chunks(_, let chunks) = phase, case .bytes(let range) = goal,
            let problem = chunks.problem(for: range, now: now)
        {
            return [.answer(id, problem)]
        }
        demand.waiting.add(id, goal, timeout: timeout, now: now)
        var effects: [Effect] = []
        if case .idle = phase, !isRemoved { effects = prepare() }
        if goal == .whole { effects += retryCompletion() }
        return effects + answerReaders()
    }

    /// A reader gave up. The others, and what is on its way, go on.
    mutating func leave(_ id: WaitingReaders.ID) { demand.waiting.remove(id) }

    /// Answers who has waited long enough, and tries again what is due.
    mutating func tick(now: Duration) -> [Effect] {
        var effects: [Effect] = []
        let late = demand.waiting.takeExpired(now: now)
        if !late.isEmpty {
            if case .chunks(let download, var chunks) = phase {
                for case .bytes(let range) in late.map(\.goal) {
                    chunks.timedOut(range, now: now, settings: settings)
                }
                phase = .chunks(download, chunks)
            } else {
                retry.remember(timedOut, until: now + settings.failureMemory)
            }
            effects = late.map { .answer($0.id, timedOut) } + [.conditionChanged]
        }
        if isRetained, let nextTry = retry.nextTry, nextTry <= now { effects += attempt() }
        return effects
    }

    private var timedOut: FileProblem {
        if file.transport == .smp { return .notSentInTime }
        return file.status == .rcvInvitation(described: false) ? .notUploadedInTime : .timedOut
    }

    /// Whether time alone can bring something: somebody's deadline, or another try.
    var needsTicks: Bool {
        if isRetired { return false }
        if !waiting.isEmpty || (isRetained && retry.nextTry != nil) { return true }
        guard case .chunks(_, let chunks) = phase, !isRemoved else { return false }
        return chunks.nextRetry != nil && demand.awaitsRetry(of: chunks)
    }

    // MARK: - What the core and commands say

    /// The item as the core has it now.
    mutating func update(_ item: ChatItem, now: Duration) -> [Effect] {
        guard let file = item.file, !isRemoved, !isRetired else { return [] }
        let before = self.file.status
        self.item = item
        self.file = file
        let status = file.status
        if before != status { retry.forgetProblem() }
        switch phase {
        case .awaitingCore:
            if status.isReadable || (status.isDescribed && !before.isDescribed) { return prepare() }
            if let problem = status.problem { return preparationFailed(problem, now: now) }
            // The core gets on with it.
            if status.hasMore(than: before) { demand.waiting.moveEnds(now: now) }
            demand.waiting.extendDeadlines(now: now)
            return [.conditionChanged]
        case .chunks(let download, var chunks):
            // The core was faster than the chunks, or has what could not be fetched.
            if status.isReadable, !before.isReadable, !chunks.isComplete, chunks.completion != .inProgress {
                return prepare()
            }
            // It gave up its own copy. Readers who have all of the bytes go on with those.
            if chunks.isReceivedByCore, status.isGivenUp, !chunks.isComplete || opens == 0 {
                return takeOver(chunks)
            }
            guard let problem = status.problem, problem.isFinal, chunks.finalProblem == nil else { return [] }
            chunks.end(problem)
            phase = .chunks(download, chunks)
            return answerReaders() + [.conditionChanged]
        case .failed where before != status:
            phase.move(to: .idle)
            return attempt() + retireIfUnused()
        case .idle where before != status: return attempt()
        case .idle, .preparing, .whole, .failed, .retired: return []
        }
    }

    /// The core is so far with it, if it is still on its way.
    mutating func advance(_ progress: FileProgress, now: Duration) -> [Effect] {
        item.advanced(by: progress).map { update($0, now: now) } ?? []
    }

    /// The user had the core's copy deleted, while the message stays: nobody but who has it open is served from it any
    /// more.
    mutating func copyDeleted(_ item: ChatItem, now: Duration) -> [Effect] {
        guard case .whole = phase, let file = item.file, !isRemoved else { return update(item, now: now) }
        (self.item, self.file, isCopyDeleted) = (item, file, true)
        return [.conditionChanged] + letDeletedCopyGo()
    }

    /// The item is deleted. `atOnce`: also what open readers could still have had.
    mutating func remove(atOnce: Bool) -> [Effect] {
        guard !isRetired else { return [] }
        var effects = finished()
        demand.removed()
        if atOnce {
            if let content = phase.content { effects.append(.erase(content)) }
            effects += fail(.deleted) + [.contentInvalid]
        } else {
            switch phase {
            case .chunks(let download, var chunks):
                chunks.end(.deleted)
                phase = .chunks(download, chunks)
            case .preparing, .awaitingCore:
                phase.move(to: .idle)
                effects.append(.conditionChanged)
            case .idle, .whole, .failed, .retired: break
            }
        }
        return effects + answerReaders() + retireIfUnused()
    }

    /// Pinned: kept whole from now on, whatever else is evicted. Not any more: what is available stays for now;
    /// what is under way ends, unless somebody else wants it.
    mutating func setPinned(_ isPinned: Bool) -> [Effect] {
        guard !isRetired else { return [] }
        _ = isPinned ? demand.retain(.pinned) : demand.letGo(.pinned)
        return retireIfUnused()
    }

    /// Received to its end whether or not somebody reads it, behind what readers want. nil when the object is retired.
    mutating func keep(_ item: ChatItem, now: Duration) -> [Effect]? {
        guard !isRetired else { return nil }
        if item.file?.status.isReadable == true { return retireIfUnused() }
        _ = demand.retain(.kept)
        return update(item, now: now) + attempt()
    }

    /// What is under way for `keep` alone ends.
    mutating func stopKeeping() -> [Effect] {
        guard !isRetired, demand.letGo(.kept) else { return [] }
        return [.conditionChanged] + retireIfUnused()
    }

    /// Goes on with what an earlier mount left pinned or unfinished, or what has just been pinned.
    mutating func resume(_ item: ChatItem, now: Duration) -> [Effect] {
        // The core has come to its end meanwhile: opening it can wait for a reader.
        if item.file?.status.isReadable == true, !demand.isPinned {
            return finished() + retireIfUnused()
        }
        return update(item, now: now) + attempt()
    }

    /// Something changed that may have stood in the way of many files.
    mutating func tryAgain() -> [Effect] {
        retry.forgetProblem()
        return retry.nextTry == nil ? [] : attempt()
    }

    /// Back to what the core has; nil when the file is in use. Never what is open, waited for, pinned, or just
    /// being handed to the core.
    /// - Parameter invalidates: the kernel's pages go too.
    mutating func evict(invalidates: Bool) -> [Effect]? {
        if isRetired { return [] }
        guard isEvictable else { return nil }
        var effects = finished()
        if case .chunks(_, let chunks) = phase, chunks.finalProblem == nil {
            effects.append(.abandonClaim(nil))
        }
        return effects + retire() + (invalidates ? [.contentInvalid] : []) + [.conditionChanged]
    }

    /// The user does not want it now: what is under way ends, what is here of it goes, and who waits for it is told so.
    /// Who reads a moment later has it fetched anew. Nil while the whole is being handed to the core, or is here.
    mutating func cancel(now: Duration) -> [Effect]? {
        if isRetired { return [] }
        var effects: [Effect] = []
        switch phase {
        case .whole: return nil
        case .chunks(_, let chunks):
            if chunks.completion == .inProgress || chunks.completion == .verified { return nil }
            if chunks.finalProblem == nil { effects.append(.abandonClaim(nil)) }
            phase.move(to: .idle)
        case .preparing, .awaitingCore: phase.move(to: .idle)
        case .idle, .failed, .retired: break
        }
        effects += finished()
        retry.cancelled(.cancelledHere, until: now + settings.failureMemory)
        return effects + answerAll(.cancelledHere) + [.conditionChanged] + retireIfUnused()
    }

    /// The hydrator ends: everybody is answered.
    mutating func shutDown() -> [Effect] {
        guard !isRetired else { return [] }
        return answerAll(.leaving) + retire()
    }

    /// Nobody uses it, but work that was begun for somebody has to end before it can be evicted.
    var isSettling: Bool {
        demand.isUnused && !demand.isPinned && !isRetired && !isEvictable
    }

    var isEvictable: Bool {
        guard demand.isUnused, !demand.isPinned else { return false }
        switch phase {
        case .chunks(_, let chunks): return chunks.completion != .inProgress
        // Of what the core is to receive nothing is here yet.
        case .whole, .idle, .failed, .awaitingCore: return true
        case .preparing, .retired: return false
        }
    }

    func condition(now: Duration) -> HydrationCondition {
        phase.condition(idle: retry.problem, now: now, demand, isStored: !isCopyDeleted) { chunks in
            isFetched(chunks, demand.fetchRequests(for: chunks, settings: settings, now: now))
        }
    }

    /// Whether it is being received, as far as `condition` tells.
    /// - Parameter requests: what the scheduler is told now; nil where no chunks are to be had.
    func isReceiving(with requests: FetchRequests?) -> Bool {
        switch phase {
        case .preparing: true
        case .awaitingCore: demand.isWanted
        case .chunks(_, let chunks):
            !chunks.isSettled && (chunks.isComplete || isFetched(chunks, requests ?? FetchRequests()))
        case .idle, .whole, .failed, .retired: false
        }
    }

    /// What is still coming of a chunk that nobody wants any more does not count: where its relay has fallen silent,
    /// that stays so.
    private func isFetched(_ chunks: ChunkMap, _ requests: FetchRequests) -> Bool {
        demand.isWanted || !requests.isEmpty
    }

    // MARK: - Preparation

    /// nil when it is not the present one.
    mutating func prepared(
        _ preparation: Preparation, _ result: PreparationResult<Download, Whole>, now: Duration
    ) -> [Effect]? {
        guard phase.isPresent(preparation) else { return nil }
        retry.succeeded()
        switch result {
        case .chunks(let download, let layout, let isReceivedByCore):
            phase.move(
                to: .chunks(
                    download,
                    ChunkMap(layout: layout, contentSize: file.size, isReceivedByCore: isReceivedByCore)))
            return answerReaders() + [.conditionChanged]
        case .whole(let whole, let cached):
            phase.move(to: .whole(whole, cached: cached))
            return finished() + answerReaders() + retireIfUnused() + [.conditionChanged]
        // The event that is waited for may have come before the answer that it must be waited for.
        case .awaitingCore where file.status.isReadable: return prepare()
        case .awaitingDescription where file.status != .rcvInvitation(described: false): return prepare()
        case .awaitingCore, .awaitingDescription:
            phase.move(to: .awaitingCore)
            return [.conditionChanged]
        }
    }

    mutating func preparationFailed(
        _ preparation: Preparation, _ problem: FileProblem, now: Duration
    ) -> [Effect] {
        phase.isPresent(preparation) ? preparationFailed(problem, now: now) : []
    }

    /// The check of its stored copy gets on: who waits for it waits as long as it does.
    mutating func verifying(_ preparation: Preparation, now: Duration) {
        guard phase.isPresent(preparation) else { return }
        demand.waiting.moveEnds(now: now)
        demand.waiting.extendDeadlines(now: now)
    }

    /// Its durable copy is damaged and the core offers it once more: it is fetched as one that was never here,
    /// and to its end, as it had been.
    mutating func offeredAgain(_ preparation: Preparation, _ item: ChatItem) -> [Effect] {
        guard let file = item.file, phase.isPresent(preparation), !isRemoved else { return [] }
        self.item = item
        self.file = file
        let retained = file.status.isReadable ? [] : retainUnfinished()
        return [.contentInvalid] + retained + prepare()
    }

    /// The core's copy was changed or replaced since it was checked: nothing more is served from what was
    /// opened, and who reads next has it checked anew.
    mutating func outdated(_ whole: Whole) -> [Effect] {
        guard case .whole(let present, _) = phase, present === whole, !isRemoved else { return [] }
        isCopyDeleted = false
        phase.move(to: .idle)
        return [.contentInvalid, .conditionChanged] + attempt()
    }

    // MARK: - Chunks

    /// What to fetch; nil when no chunks are to be had.
    func fetchRequests(now: Duration) -> (download: Download, layout: ChunkLayout, FetchRequests)? {
        guard case .chunks(let download, let chunks) = phase else { return nil }
        return (download, chunks.layout, demand.fetchRequests(for: chunks, settings: settings, now: now))
    }

    /// A fetch was granted. False when the chunk is not wanted any more.
    mutating func started(_ download: Download, _ chunk: Int) -> Bool {
        phase.withChunks(of: download) { $0.started(chunk) } ?? false
    }

    /// Bytes of a chunk are coming.
    mutating func progressed(_ download: Download, _ chunk: Int, now: Duration) {
        guard let chunks = phase.chunks(of: download) else { return }
        demand.waiting.extendDeadlines(now: now) { chunks.isProgress(chunk, for: $0) }
    }

    /// A chunk is in the cache.
    /// - Parameter contentOffset: with the first chunk, from the header.
    mutating func arrived(
        _ download: Download, _ chunk: Int, contentOffset: UInt64?, now: Duration
    ) -> [Effect] {
        let isPresent: Void? = phase.withChunks(of: download) {
            $0.arrived(chunk, contentOffset: contentOffset)
        }
        guard isPresent != nil else { return [] }
        progressed(download, chunk, now: now)
        return [.conditionChanged] + answerReaders()
    }

    /// A fetch has ended without a chunk, or with one that could not be kept.
    mutating func fetchFailed(
        _ download: Download, _ chunk: Int, _ problem: FileProblem, wasCancelled: Bool, now: Duration
    ) -> [Effect] {
        guard let chunks = phase.chunks(of: download) else { return [] }
        if wasCancelled {
            // No failure: who has come back meanwhile has it fetched at once.
            phase.withChunks(of: download) { $0.cancelled(chunk) }
            return [.conditionChanged]
        }
        if chunks.isReceivedByCore, problem.kind == .notApproved { return leaveToCore(now: now) }
        let concerned = demand.waiting.take {
            if case .bytes(let range) = $0.goal { chunks.needed(for: range).contains(chunk) } else { true }
        }
        phase.withChunks(of: download) { $0.failed(chunk, problem, now: now, settings: settings) }
        var effects: [Effect] = concerned.map { .answer($0.id, problem) } + [.conditionChanged]
        if problem.isFinal { effects += finished() + [.abandonClaim(problem)] }
        return effects + answerReaders()
    }

    /// Blocks of chunks could not be read back, or went for those of others: they are fetched again when
    /// somebody wants them.
    mutating func lost(_ download: Download, _ lost: [Int]) -> [Effect] {
        let isPresent: Void? = phase.withChunks(of: download) { chunks in
            for chunk in lost { chunks.lost(chunk) }
        }
        return isPresent == nil ? [] : [.conditionChanged]
    }

    /// So many chunks, from the first on, have gone through the storage pipeline.
    mutating func stored(_ download: Download, upTo count: Int, now: Duration) -> [Effect] {
        completeIfTrue(download, now: now) { $0.stored(upTo: count) }
    }

    /// A chunk is where the disk had lost it.
    mutating func repaired(_ download: Download, _ chunk: Int, now: Duration) -> [Effect] {
        completeIfTrue(download, now: now) { $0.repaired(chunk) }
    }

    private mutating func completeIfTrue(
        _ download: Download, now: Duration, _ event: (inout ChunkMap) -> Bool
    ) -> [Effect] {
        guard let completes = phase.withChunks(of: download, event) else { return [] }
        demand.waiting.extendDeadlines(now: now) { $0 == .whole }
        return completes ? [.complete(download)] : []
    }

    /// The disk has not kept what was written of these chunks: they come once more, whether or not somebody
    /// reads them.
    /// - Parameter endsCompletion: found when the whole was to be handed over, which waits for them now. What a
    ///   reader meets meanwhile does not begin that a second time.
    mutating func damaged(_ download: Download, _ damaged: [Int], endsCompletion: Bool) -> [Effect] {
        let isPresent: Void? = phase.withChunks(of: download) { chunks in
            for chunk in damaged { chunks.noteDamage(chunk) }
            if endsCompletion { chunks.completionInterrupted() }
        }
        return isPresent == nil ? [] : [.conditionChanged]
    }

    /// The core keeps the whole, there.
    mutating func completed(
        _ download: Download, _ whole: Whole, at location: FileSourceLocation, cached: UInt64
    ) -> [Effect] {
        guard let chunks = phase.chunks(of: download) else { return [] }
        assert(chunks.completion != .verified, "completed by two")
        file.status = .rcvComplete
        file.source = location
        item.file = file
        phase.move(to: .whole(whole, cached: cached))
        return finished() + answerReaders() + [.conditionChanged]
    }

    /// The whole is what was described, and the core makes the durable copy itself: served from the cache.
    mutating func verified(_ download: Download) -> [Effect] {
        guard phase.withChunks(of: download, { $0.verified() }) != nil else { return [] }
        return answerReaders() + [.conditionChanged]
    }

    /// The whole is not what was described, or could not be stored. In the first case nothing of it is
    /// ever served again; in the second the chunks stay, and opening the file tries once more; so does
    /// time, for a file that is retained.
    mutating func completionFailed(
        _ download: Download, _ problem: FileProblem, now: Duration
    ) -> [Effect] {
        guard phase.chunks(of: download) != nil else { return [] }
        if problem.kind == .damaged {
            return fail(problem) + [.contentInvalid, .abandonClaim(problem)]
        }
        phase.withChunks(of: download) { $0.completionFailed(problem) }
        if isRetained { retry.postpone(now: now, settings: settings) }
        return demand.waiting.take { $0.goal == .whole }.map { .answer($0.id, problem) } + [.conditionChanged]
    }

    // MARK: - Inside

    private mutating func prepare() -> [Effect] {
        let preparation = Preparation()
        phase.move(to: .preparing(preparation))
        return [.prepare(preparation), .conditionChanged]
    }

    /// Begins, or goes on, with a file that nobody need be waiting for.
    private mutating func attempt() -> [Effect] {
        guard isRetained else { return [] }
        retry.began()
        if case .idle = phase { return prepare() }
        return retryCompletion()
    }

    /// Tries again to store a whole whose storing failed.
    private mutating func retryCompletion() -> [Effect] {
        guard case .chunks(let download, _) = phase,
            phase.withChunks(of: download, { $0.retryCompletion() }) == true
        else { return [] }
        return [.resumeStorage(download)]
    }

    /// Everyone who waits gets the problem; who comes later tries again, but not at once.
    private mutating func preparationFailed(_ problem: FileProblem, now: Duration) -> [Effect] {
        if problem.isFinal { return fail(problem) }
        phase.move(to: .idle)
        retry.remember(problem, until: now + settings.failureMemory)
        if isRetained { retry.postpone(now: now, settings: settings) }
        return [.conditionChanged] + answerAll(problem)
    }

    /// The chunks are not for us to fetch: a relay's name leads into this machine's own network. The core
    /// decides for itself what it contacts, so its copy is waited for; when it has failed too, its reason is
    /// the answer.
    private mutating func leaveToCore(now: Duration) -> [Effect] {
        phase.move(to: .awaitingCore)
        if file.status.isReadable { return [.conditionChanged] + prepare() }
        guard let problem = file.status.problem else { return [.conditionChanged] }
        return preparationFailed(problem, now: now)
    }

    /// For good.
    private mutating func fail(_ problem: FileProblem) -> [Effect] {
        let effects = finished()
        phase.move(to: .failed(problem))
        return effects + [.conditionChanged] + answerAll(problem)
    }

    private mutating func answerAll(_ problem: FileProblem?) -> [Effect] {
        demand.waiting.takeAll().map { .answer($0.id, problem) }
    }

    /// Answers the readers whose answer is known.
    private mutating func answerReaders() -> [Effect] {
        if waiting.isEmpty { return [] }
        switch phase {
        case .whole: return answerAll(nil)
        case .failed(let problem): return answerAll(problem)
        case .idle where isRemoved: return answerAll(.deleted)
        case .idle, .preparing, .awaitingCore, .retired: return []
        case .chunks(_, let chunks):
            let served = demand.waiting.take { chunks.satisfies($0.goal) }
            var effects: [Effect] = served.map { .answer($0.id, nil) }
            if let problem = chunks.finalProblem { effects += answerAll(problem) }
            return effects
        }
    }

    private mutating func retainUnfinished() -> [Effect] {
        guard settings.finishesWhatWasRead, demand.retain(.unfinished) else { return [] }
        return [.retainUnfinished(true)]
    }

    /// The core gave up its own copy: the bytes come anew, for one that is kept here, and to their end where it would
    /// have been the core that finished what was read.
    private mutating func takeOver(_ chunks: ChunkMap) -> [Effect] {
        let wasRead = chunks.isComplete || chunks.availableBytes > UInt64(chunks.layout.size(of: 0))
        return (wasRead ? retainUnfinished() : []) + prepare()
    }

    /// It is here, will never come, or was let go of.
    private mutating func finished() -> [Effect] {
        _ = demand.letGo(.kept)
        return demand.letGo(.unfinished) ? [.retainUnfinished(false)] : []
    }

    private mutating func retire() -> [Effect] {
        phase.move(to: .retired)
        return [.retired]
    }

    /// What was opened of a copy that was deleted goes with its last reader. It is fetched anew where it is to be kept.
    private mutating func letDeletedCopyGo() -> [Effect] {
        guard isCopyDeleted, case .whole = phase, demand.isUnused, !isRemoved else { return [] }
        isCopyDeleted = false
        guard isRetained else { return retire() + [.contentInvalid, .conditionChanged] }
        phase.move(to: .idle)
        return [.contentInvalid, .conditionChanged] + attempt()
    }

    /// A file that nobody has open and of which nothing is held needs no object.
    private mutating func retireIfUnused() -> [Effect] {
        guard demand.isUnused, !isRetired else { return [] }
        if isRemoved { return retire() + [.contentInvalid] }
        if case .idle = phase, retry.problem == nil, !isRetained { return retire() }
        return []
    }
}
