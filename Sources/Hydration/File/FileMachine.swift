import ChatCore
import XFTP

/// The state machine of a file that is open, retained or cached. Pure: events come in with the time since the
/// hydrator's start; effects go out to `CachedFile`.
///
/// The content belongs to the phase, and its identity names the attempt. Events of another preparation,
/// download or copy are late and ignored. Any other event that does not fit the phase is a bug and traps in
/// debug builds. The type is large because every event needs the phase; chunks (`ChunkMap`), demand
/// (`FileDemand`) and retries (`RetryState`) have types of their own.
struct FileMachine<Download: AnyObject & Sendable, Whole: AnyObject & Sendable>: Sendable {
    typealias Phase = FilePhase<Download, Whole>
    typealias Effect = FileEffect<Download, Whole>
    typealias Target = ReadTarget<Download, Whole>

    private(set) var phase = Phase.idle
    /// As last described by the core.
    private(set) var item: ChatItem
    private(set) var file: ChatFile
    private(set) var demand: FileDemand
    /// The user deleted the core's copy in use. Only handles that are already open may still read it.
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

    /// Adds an open handle. Returns nil if the object is retired.
    /// - Parameter outdated: The stored copy, if it changed since it was verified.
    mutating func open(_ item: ChatItem, outdated: Whole?, now: Duration) -> [Effect]? {
        guard !isRetired else { return nil }
        demand.opened(now: now)
        // A deleted copy has no newer version to read.
        let outdated = isCopyDeleted ? nil : outdated
        return (outdated.map { self.outdated($0) } ?? []) + update(item, now: now) + continueStorage()
    }

    mutating func close(now: Duration) -> [Effect] {
        guard !isRetired, demand.closed(now: now) else { return [] }
        if case .chunks(_, let chunks) = phase, chunks.isReceivedByCore, file.status.isGivenUp, !isRemoved {
            return takeOver(chunks)
        }
        return letDeletedCopyGo() + retireIfUnused()
    }

    // MARK: - Readers

    /// Finds the source of a range of the content, which must end within the file.
    /// - Parameter counts: If true, the read counts for read-ahead.
    /// - Returns: `movesOn` is true if the wanted chunks may have changed.
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

    /// Adds a waiting reader. It is answered when the goal is reached or fails, when its chunks make no
    /// progress for `timeout`, or after 20 times `timeout`. If the core downloads the file, progress restarts
    /// the second limit too.
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
        if goal == .whole { effects += continueStorage() }
        return effects + answerReaders()
    }

    /// Returns true if a sequential reader has yet to read this chunk.
    func awaits(_ chunk: Int) -> Bool {
        if case .chunks(_, let chunks) = phase { demand.awaits(chunk, of: chunks) } else { false }
    }

    /// Removes a reader that gave up. Other readers and running fetches continue.
    mutating func leave(_ id: WaitingReaders.ID) { demand.waiting.remove(id) }

    /// Answers expired readers and starts retries that are due.
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

    /// True if a deadline or a retry is pending.
    var needsTicks: Bool {
        if isRetired { return false }
        if !waiting.isEmpty || (isRetained && retry.nextTry != nil) { return true }
        guard case .chunks(_, let chunks) = phase, !isRemoved else { return false }
        return chunks.nextRetry != nil && demand.awaitsRetry(of: chunks)
    }

    // MARK: - Events of the core and of commands

    /// Takes over the core's current state of the item.
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
            // The core makes progress.
            if status.hasMore(than: before) { demand.waiting.moveEnds(now: now) }
            demand.waiting.extendDeadlines(now: now)
            return [.conditionChanged]
        case .chunks(let download, var chunks):
            // The core finished before the chunks, or holds parts that could not be fetched.
            if status.isReadable, !before.isReadable, !chunks.isComplete, chunks.completion != .inProgress {
                return prepare()
            }
            // The core gave up its copy. Readers keep chunks that are complete.
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

    /// Takes over the core's transfer progress if the transfer is running.
    mutating func advance(_ progress: FileProgress, now: Duration) -> [Effect] {
        item.advanced(by: progress).map { update($0, now: now) } ?? []
    }

    /// Records that the user deleted the core's copy but kept the message. Only handles that are already open
    /// may still read it.
    mutating func copyDeleted(_ item: ChatItem, now: Duration) -> [Effect] {
        guard case .whole = phase, let file = item.file, !isRemoved else { return update(item, now: now) }
        (self.item, self.file, isCopyDeleted) = (item, file, true)
        return [.conditionChanged] + letDeletedCopyGo()
    }

    /// Records that the item was deleted.
    /// - Parameter atOnce: If true, open handles lose the available bytes too.
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

    /// Pins or unpins the file. A pinned file is received completely and never evicted. Unpinning keeps
    /// available bytes and ends downloads without other demand.
    mutating func setPinned(_ isPinned: Bool) -> [Effect] {
        guard !isRetired else { return [] }
        _ = isPinned ? demand.retain(.pinned) : demand.letGo(.pinned)
        return retireIfUnused()
    }

    /// Receives the file completely, after chunks for readers. Returns nil if the object is retired.
    mutating func keep(_ item: ChatItem, now: Duration) -> [Effect]? {
        guard !isRetired else { return nil }
        if item.file?.status.isReadable == true { return retireIfUnused() }
        _ = demand.retain(.kept)
        return update(item, now: now) + attempt()
    }

    /// Ends receiving that only `keep` requested.
    mutating func stopKeeping() -> [Effect] {
        guard !isRetired, demand.letGo(.kept) else { return [] }
        return [.conditionChanged] + retireIfUnused()
    }

    /// Continues a file that is pinned, or that an earlier mount left pinned or unfinished.
    mutating func resume(_ item: ChatItem, now: Duration) -> [Effect] {
        // The core has completed it meanwhile; a reader opens it when needed.
        if item.file?.status.isReadable == true, !demand.isPinned {
            return finished() + retireIfUnused()
        }
        return update(item, now: now) + attempt()
    }

    /// Retries at once because a common cause of failures has changed.
    mutating func tryAgain() -> [Effect] {
        retry.forgetProblem()
        return retry.nextTry == nil ? [] : attempt()
    }

    /// Drops cached content. Returns nil if the file is in use: open, awaited, pinned, or being handed to the
    /// core.
    /// - Parameter invalidates: If true, invalidates the kernel's pages too.
    mutating func evict(invalidates: Bool) -> [Effect]? {
        if isRetired { return [] }
        guard isEvictable else { return nil }
        var effects = finished()
        if case .chunks(_, let chunks) = phase, chunks.finalProblem == nil {
            effects.append(.abandonClaim(nil))
        }
        return effects + retire() + (invalidates ? [.contentInvalid] : []) + [.conditionChanged]
    }

    /// Cancels receiving by the user's command: drops partial content and fails waiting readers. Later reads
    /// start a new download. Returns nil if the file is complete or being handed to the core.
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

    /// Answers all readers when the hydrator shuts down.
    mutating func shutDown() -> [Effect] {
        guard !isRetired else { return [] }
        return answerAll(.leaving) + retire()
    }

    /// True if the file is unused but an operation must finish before eviction.
    var isSettling: Bool {
        demand.isUnused && !demand.isPinned && !isRetired && !isEvictable
    }

    var isEvictable: Bool {
        guard demand.isUnused, !demand.isPinned else { return false }
        switch phase {
        case .chunks(_, let chunks): return chunks.completion != .inProgress
        // No bytes are here yet if the core is to receive the file.
        case .whole, .idle, .failed, .awaitingCore: return true
        case .preparing, .retired: return false
        }
    }

    func condition(now: Duration) -> HydrationCondition {
        phase.condition(idle: retry.problem, now: now, demand, isStored: !isCopyDeleted) { chunks in
            isFetched(chunks, demand.fetchRequests(for: chunks, settings: settings, now: now))
        }
    }

    /// Returns true if the file is being received, consistent with `condition`.
    /// - Parameter requests: Current requests to the scheduler; nil without chunks.
    func isReceiving(with requests: FetchRequests?) -> Bool {
        switch phase {
        case .preparing: true
        case .awaitingCore: demand.isWanted
        case .chunks(_, let chunks):
            !chunks.isSettled && (chunks.isComplete || isFetched(chunks, requests ?? FetchRequests()))
        case .idle, .whole, .failed, .retired: false
        }
    }

    /// Ignores unwanted chunks that are still in flight: on a silent relay they would stay so for ever.
    private func isFetched(_ chunks: ChunkMap, _ requests: FetchRequests) -> Bool {
        demand.isWanted || !requests.isEmpty
    }

    // MARK: - Preparation

    /// Records the result of a preparation. Returns nil if the preparation is outdated.
    mutating func prepared(
        _ preparation: Preparation, _ result: PreparationResult<Download, Whole>, now: Duration
    ) -> [Effect]? {
        guard phase.isPresent(preparation) else { return nil }
        retry.succeeded()
        switch result {
        case .chunks(let download, let layout, let isReceivedByCore, let unchecked):
            let chunks = ChunkMap(
                layout: layout, contentSize: file.size, isReceivedByCore: isReceivedByCore,
                unchecked: unchecked)
            phase.move(to: .chunks(download, chunks))
            return answerReaders() + [.conditionChanged]
        case .whole(let whole, let cached):
            phase.move(to: .whole(whole, cached: cached))
            return finished() + answerReaders() + retireIfUnused() + [.conditionChanged]
        // The awaited event may come before this result.
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

    /// Extends the waits of readers while the stored copy is being verified.
    mutating func verifying(_ preparation: Preparation, now: Duration) {
        guard phase.isPresent(preparation) else { return }
        demand.waiting.moveEnds(now: now)
        demand.waiting.extendDeadlines(now: now)
    }

    /// Starts a new download after the durable copy was found damaged and the core offers the file again. The
    /// new copy is received completely, as the old one was.
    mutating func offeredAgain(_ preparation: Preparation, _ item: ChatItem) -> [Effect] {
        guard let file = item.file, phase.isPresent(preparation), !isRemoved else { return [] }
        self.item = item
        self.file = file
        let retained = file.status.isReadable ? [] : retainUnfinished()
        return [.contentInvalid] + retained + prepare()
    }

    /// Handles a core's copy that changed since it was verified. It is no longer read; the next reader
    /// verifies it again.
    mutating func outdated(_ whole: Whole) -> [Effect] {
        guard case .whole(let present, _) = phase, present === whole, !isRemoved else { return [] }
        isCopyDeleted = false
        phase.move(to: .idle)
        return [.contentInvalid, .conditionChanged] + attempt()
    }

    // MARK: - Chunks

    /// The wanted chunks; nil without a chunk source.
    func fetchRequests(now: Duration) -> (download: Download, layout: ChunkLayout, FetchRequests)? {
        guard case .chunks(let download, let chunks) = phase else { return nil }
        return (download, chunks.layout, demand.fetchRequests(for: chunks, settings: settings, now: now))
    }

    /// Records a granted fetch. Returns false if the chunk is no longer wanted.
    mutating func started(_ download: Download, _ chunk: Int) -> Bool {
        phase.withChunks(of: download) { $0.started(chunk) } ?? false
    }

    /// Extends the deadlines of readers that need this chunk.
    mutating func progressed(_ download: Download, _ chunk: Int, now: Duration) {
        guard let chunks = phase.chunks(of: download) else { return }
        demand.waiting.extendDeadlines(now: now) { chunks.isProgress(chunk, for: $0) }
    }

    /// Records that a chunk is available.
    /// - Parameter contentOffset: For the first chunk, from the header.
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

    /// Records that a chunk of an earlier mount is damaged. It is fetched again.
    mutating func checkFailed(_ download: Download, _ chunk: Int) -> [Effect] {
        guard phase.withChunks(of: download, { $0.checkFailed(chunk) }) != nil else { return [] }
        return [.conditionChanged] + answerReaders()
    }

    /// Records a fetch without a result.
    mutating func fetchFailed(
        _ download: Download, _ chunk: Int, _ problem: FileProblem, wasCancelled: Bool, now: Duration
    ) -> [Effect] {
        guard let chunks = phase.chunks(of: download) else { return [] }
        if wasCancelled {
            // No failure, so new readers have the chunk fetched at once.
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

    /// Records chunks that were evicted. They are fetched again on demand.
    mutating func lost(_ download: Download, _ lost: [Int]) -> [Effect] {
        let isPresent: Void? = phase.withChunks(of: download) { chunks in
            for chunk in lost { chunks.lost(chunk) }
        }
        return isPresent == nil ? [] : [.conditionChanged]
    }

    /// Returns true if chunks of this download are written even beyond the limits: the whole file is wanted, or
    /// here, and storing it has not failed.
    func wantsStorage(_ download: Download) -> Bool {
        guard let chunks = phase.chunks(of: download), chunks.completionProblem == nil else { return false }
        return chunks.isComplete || waiting.waitForWhole || demand.wantsWhole(chunks)
    }

    /// Returns true if nothing is written until the next try.
    func hasFailedToStore(_ download: Download) -> Bool {
        phase.chunks(of: download)?.completionProblem != nil
    }

    /// Records that a chunk is stored.
    mutating func stored(_ download: Download, _ chunk: Int, now: Duration) -> [Effect] {
        guard let completes = phase.withChunks(of: download, { $0.stored(chunk) }) else { return [] }
        demand.waiting.extendDeadlines(now: now) { $0 == .whole }
        return completes ? [.complete(download)] : []
    }

    /// Records chunks that the disk lost. They are fetched again on demand.
    /// - Parameter endsCompletion: True if the final check found the damage. The hand-over then waits for
    ///   these chunks. Damage found by readers during the hand-over does not restart it.
    mutating func damaged(_ download: Download, _ damaged: [Int], endsCompletion: Bool) -> [Effect] {
        let isPresent: Void? = phase.withChunks(of: download) { chunks in
            for chunk in damaged { chunks.lost(chunk) }
            if endsCompletion { chunks.completionInterrupted() }
        }
        return isPresent == nil ? [] : [.conditionChanged]
    }

    /// Records that the core has taken over the complete file.
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

    /// Records that the file was verified and that the core makes the durable copy. Reads continue from the
    /// cache.
    mutating func verified(_ download: Download) -> [Effect] {
        guard phase.withChunks(of: download, { $0.verified() }) != nil else { return [] }
        return answerReaders() + [.conditionChanged]
    }

    /// Records that the file was damaged or could not be stored. A damaged file is never read again. After a
    /// storage error the chunks stay, and the next open, or a retry of a retained file, stores them again.
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

    // MARK: - Implementation

    private mutating func prepare() -> [Effect] {
        let preparation = Preparation()
        phase.move(to: .preparing(preparation))
        return [.prepare(preparation), .conditionChanged]
    }

    /// Starts or continues a retained file.
    private mutating func attempt() -> [Effect] {
        guard isRetained else { return [] }
        retry.began()
        if case .idle = phase { return prepare() }
        return continueStorage()
    }

    /// Continues to store the file, also after a failure. If the core has taken it over nevertheless, its copy
    /// is opened.
    private mutating func continueStorage() -> [Effect] {
        guard case .chunks(let download, let chunks) = phase else { return [] }
        if file.status.isReadable, chunks.completionProblem != nil { return prepare() }
        if phase.withChunks(of: download, { $0.retryCompletion() }) == true { return [.complete(download)] }
        return phase.chunks(of: download)?.hasUnstored == true ? [.resumeStorage(download)] : []
    }

    /// Fails all waiting readers. Later readers cause a new try after `failureMemory`.
    private mutating func preparationFailed(_ problem: FileProblem, now: Duration) -> [Effect] {
        if problem.isFinal { return fail(problem) }
        phase.move(to: .idle)
        retry.remember(problem, until: now + settings.failureMemory)
        if isRetained { retry.postpone(now: now, settings: settings) }
        return [.conditionChanged] + answerAll(problem)
    }

    /// Stops fetching chunks because a relay name resolves to a local address. The core applies its own
    /// policy, so its copy is awaited; its failure is then the answer.
    private mutating func leaveToCore(now: Duration) -> [Effect] {
        phase.move(to: .awaitingCore)
        if file.status.isReadable { return [.conditionChanged] + prepare() }
        guard let problem = file.status.problem else { return [.conditionChanged] }
        return preparationFailed(problem, now: now)
    }

    /// Fails permanently.
    private mutating func fail(_ problem: FileProblem) -> [Effect] {
        let effects = finished()
        phase.move(to: .failed(problem))
        return effects + [.conditionChanged] + answerAll(problem)
    }

    private mutating func answerAll(_ problem: FileProblem?) -> [Effect] {
        demand.waiting.takeAll().map { .answer($0.id, problem) }
    }

    /// Answers readers whose result is known.
    private mutating func answerReaders() -> [Effect] {
        if waiting.isEmpty { return [] }
        switch phase {
        case .whole: return answerAll(nil)
        case .failed(let problem): return answerAll(problem)
        case .idle where isRemoved: return answerAll(.deleted)
        case .idle, .preparing, .awaitingCore, .retired: return []
        case .chunks(_, let chunks):
            let served = demand.waiting.take { chunks.satisfies($0.goal) }
            let effects: [Effect] = served.map { .answer($0.id, nil) }
            guard let problem = chunks.finalProblem else { return effects }
            let hopeless = demand.waiting.take { chunks.isHopeless($0.goal) }
            return effects + hopeless.map { .answer($0.id, problem) }
        }
    }

    private mutating func retainUnfinished() -> [Effect] {
        guard settings.finishesWhatWasRead, demand.retain(.unfinished) else { return [] }
        return [.retainUnfinished(true)] + continueStorage()
    }

    /// Downloads the file after the core gave up its copy: if it is retained, or if readers took more than
    /// the first chunk.
    private mutating func takeOver(_ chunks: ChunkMap) -> [Effect] {
        let wasRead = chunks.isComplete || chunks.availableBytes > UInt64(chunks.layout.size(of: 0))
        return (wasRead ? retainUnfinished() : []) + prepare()
    }

    /// Ends retention because the file is complete, failed permanently or was given up.
    private mutating func finished() -> [Effect] {
        _ = demand.letGo(.kept)
        return demand.letGo(.unfinished) ? [.retainUnfinished(false)] : []
    }

    private mutating func retire() -> [Effect] {
        phase.move(to: .retired)
        return [.retired]
    }

    /// Drops a deleted copy with its last reader. A retained file is downloaded again.
    private mutating func letDeletedCopyGo() -> [Effect] {
        guard isCopyDeleted, case .whole = phase, demand.isUnused, !isRemoved else { return [] }
        isCopyDeleted = false
        guard isRetained else { return retire() + [.contentInvalid, .conditionChanged] }
        phase.move(to: .idle)
        return [.contentInvalid, .conditionChanged] + attempt()
    }

    /// Retires the object if it is not open and holds nothing.
    private mutating func retireIfUnused() -> [Effect] {
        guard demand.isUnused, !isRetired else { return [] }
        if isRemoved { return retire() + [.contentInvalid] }
        if case .idle = phase, retry.problem == nil, !isRetained { return retire() }
        return []
    }
}
