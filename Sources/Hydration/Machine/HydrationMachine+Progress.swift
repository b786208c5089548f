import ChatCore

/// What the hydrator reports back about the actions it carried out.
extension HydrationMachine {
    enum Preparation: Sendable {
        /// - Parameter isReceivedByCore: the core fetches its durable copy itself.
        case chunks(ChunkLayout, isReceivedByCore: Bool)
        case whole(cached: UInt64)
        /// The core receives it.
        case awaitingCore
        /// The sender has not finished its upload.
        case awaitingDescription
    }

    mutating func prepared(
        _ id: FileID, _ generation: Generation, _ preparation: Preparation, now: Duration
    ) -> [Action] {
        guard let entry = current(id, generation), case .preparing = entry.phase else { return [] }
        entries[id]?.recent = nil
        entries[id]?.failedTries = 0
        switch preparation {
        case .chunks(let layout, let isReceivedByCore):
            var download = ChunkDownload(
                layout: layout, contentSize: entry.file.size, isReceivedByCore: isReceivedByCore)
            if entry.isRemoved { download.dead = .deleted }
            entries[id]?.phase = .chunks(download)
            rotation.append(id)
            return evaluate(id) + schedule(now: now) + [.changed(id)]
        case .whole(let cached):
            entries[id]?.phase = .whole(cached: cached)
            return finished(id) + evaluate(id) + forgetIfUseless(id) + [.changed(id)]
        case .awaitingCore:
            return awaitCore(id, isOver: entry.file.status.isReadable)
        case .awaitingDescription:
            return awaitCore(id, isOver: entry.file.status != .rcvInvitation(described: false))
        }
    }

    /// The news that is waited for may have come before the answer that it must be waited for.
    private mutating func awaitCore(_ id: FileID, isOver: Bool) -> [Action] {
        if isOver { return prepare(id) }
        entries[id]?.phase = .awaitingCore
        return [.changed(id)]
    }

    mutating func preparationFailed(
        _ id: FileID, _ generation: Generation, _ problem: FileProblem, now: Duration
    ) -> [Action] {
        current(id, generation) == nil ? [] : preparationFailed(id, problem, now: now)
    }

    /// Everyone who waits gets the problem; who comes later tries again, but not at once.
    mutating func preparationFailed(_ id: FileID, _ problem: FileProblem, now: Duration) -> [Action] {
        guard var entry = entries[id] else { return [] }
        var actions: [Action] = []
        if problem.isFinal {
            actions = finished(id) + retire(&entry, id, .failed(problem))
        } else {
            actions = retire(&entry, id, .idle)
            entry.recent = (problem, now + settings.failureMemory)
            postpone(&entry, now: now)
        }
        actions += entry.waiters.map { .wake($0.id, problem) }
        entry.waiters = []
        entries[id] = entry
        return actions
    }

    /// The chunks are not for us to fetch: a relay's name leads into this machine's own network. The core
    /// decides for itself what it contacts, so its copy is waited for; when it has failed too, its reason is
    /// the answer.
    private mutating func leaveToCore(_ entry: inout Entry, _ id: FileID, now: Duration) -> [Action] {
        let actions = retire(&entry, id, .awaitingCore) + [.drop(id)]
        entries[id] = entry
        if entry.file.status.isReadable { return actions + prepare(id) }
        guard let problem = entry.file.status.problem else { return actions }
        return actions + preparationFailed(id, problem, now: now)
    }

    /// A chunk is in the cache. Its memory is in use until `landed`.
    /// - Parameter contentOffset: with the first chunk, from the header.
    mutating func arrived(
        _ id: FileID, _ generation: Generation, chunk: Int, contentOffset: UInt64?, now: Duration
    ) -> [Action] {
        for index in flights.indices where flights[index].isOf(id, generation, chunk) {
            flights[index].isHere = true
            flights[index].lastSign = now
            distances.note(flights[index].relay, chunkAfter: now - flights[index].start)
        }
        guard var entry = current(id, generation), case .chunks(var download) = entry.phase else { return [] }
        download.arrived(chunk, contentOffset: contentOffset)
        entry.phase = .chunks(download)
        entries[id] = entry
        grantPatience(id, chunk: chunk, now: now)
        return [.changed(id)] + evaluate(id) + schedule(now: now)
    }

    /// So many chunks, from the first on, have gone through the check of the whole.
    mutating func passed(_ id: FileID, _ generation: Generation, upTo count: Int, now: Duration) -> [Action] {
        guard let entry = current(id, generation), case .chunks(var download) = entry.phase else { return [] }
        download.passed(upTo: count)
        let actions = completeWhenPassed(id, generation, &download)
        entries[id]?.phase = .chunks(download)
        grantPatience(id, now: now) { $0 == .whole }
        return actions
    }

    func completeWhenPassed(
        _ id: FileID, _ generation: Generation, _ download: inout ChunkDownload
    ) -> [Action] {
        guard download.isPassed, !download.isCompleting, !download.isChecked, download.dead == nil else {
            return []
        }
        download.isCompleting = true
        return [.complete(id, generation)]
    }

    /// Bytes of a chunk are coming: neither has its relay fallen silent, nor are its readers late.
    mutating func progressed(
        _ id: FileID, _ generation: Generation, chunk: Int, now: Duration
    ) -> [Action] {
        for index in flights.indices where flights[index].isOf(id, generation, chunk) {
            flights[index].lastSign = now
            guard !flights[index].hasBytes else { continue }
            flights[index].hasBytes = true
            distances.note(flights[index].relay, firstByteAfter: now - flights[index].start, now: now)
        }
        if current(id, generation) != nil { grantPatience(id, chunk: chunk, now: now) }
        return []
    }

    mutating func fetchFailed(
        _ id: FileID, _ generation: Generation, chunk: Int, _ problem: FileProblem, now: Duration
    ) -> [Action] {
        let wasCancelled = flights.contains { $0.isOf(id, generation, chunk) && $0.isCancelled && !$0.isHere }
        landed(id, generation, chunk)
        guard var entry = current(id, generation), case .chunks(var download) = entry.phase else {
            return schedule(now: now)
        }
        if wasCancelled {
            // No failure: who has come back meanwhile has it fetched at once.
            download.cancelled(chunk)
            entries[id]?.phase = .chunks(download)
            return [.changed(id)] + schedule(now: now)
        }
        if download.isReceivedByCore, problem.kind == .notApproved {
            return leaveToCore(&entry, id, now: now) + schedule(now: now)
        }
        let needing = entry.waiters.filter { waiter in
            switch waiter.goal {
            case .bytes(let range): download.needed(for: range).contains(chunk)
            case .whole: true
            }
        }
        download.failed(chunk, problem, now: now, settings: settings)
        entry.phase = .chunks(download)
        entry.waiters.removeAll { waiter in needing.contains { $0.id == waiter.id } }
        entries[id] = entry
        var actions: [Action] = needing.map { .wake($0.id, problem) } + [.changed(id)]
        if problem.isFinal { actions += finished(id) + [.abandon(id, problem)] }
        return actions + evaluate(id) + schedule(now: now)
    }

    /// Blocks of a chunk could not be read back: it is fetched again when somebody wants it.
    mutating func lost(_ id: FileID, _ generation: Generation, chunk: Int) {
        guard let entry = current(id, generation), case .chunks(var download) = entry.phase else { return }
        download.lost(chunk)
        entries[id]?.phase = .chunks(download)
        if !rotation.contains(id) { rotation.append(id) }
    }

    /// The core keeps the whole.
    /// - Parameter file: as the core has it now.
    mutating func completed(
        _ id: FileID, _ generation: Generation, _ file: ChatFile, cached: UInt64
    ) -> [Action] {
        guard current(id, generation) != nil else { return [] }
        leaveRotation(id)
        entries[id]?.file = file
        entries[id]?.item.file = file
        entries[id]?.phase = .whole(cached: cached)
        return finished(id) + evaluate(id) + [.changed(id)] + closeUnused()
    }

    /// The whole is what was described, and the core makes the durable copy itself: served from the cache.
    mutating func checked(_ id: FileID, _ generation: Generation) -> [Action] {
        guard let entry = current(id, generation), case .chunks(var download) = entry.phase else { return [] }
        download.isCompleting = false
        download.isChecked = true
        entries[id]?.phase = .chunks(download)
        return evaluate(id) + [.changed(id)]
    }

    /// The whole is not what was described, or could not be stored. In the first case nothing of it is
    /// ever served again; in the second the chunks stay, and opening the file tries once more; so does
    /// time, for a file that is kept.
    mutating func completionFailed(
        _ id: FileID, _ generation: Generation, _ problem: FileProblem, now: Duration
    ) -> [Action] {
        guard var entry = current(id, generation), case .chunks(var download) = entry.phase else { return [] }
        guard problem.kind == .damaged else {
            download.isCompleting = false
            download.completionProblem = problem
            entry.phase = .chunks(download)
            postpone(&entry, now: now)
            let waiting = entry.waiters.filter { $0.goal == .whole }
            entry.waiters.removeAll { $0.goal == .whole }
            entries[id] = entry
            return waiting.map { .wake($0.id, problem) } + [.changed(id)]
        }
        var actions = finished(id) + retire(&entry, id, .failed(problem))
        actions += entry.waiters.map { .wake($0.id, problem) }
        entry.waiters = []
        entries[id] = entry
        return actions + [.drop(id), .invalidated(id), .abandon(id, problem)]
    }

    /// Tries again to store a whole whose storing failed.
    mutating func completeAgain(_ id: FileID) -> [Action] {
        guard let entry = entries[id], case .chunks(var download) = entry.phase, download.dead == nil,
            download.completionProblem != nil
        else { return [] }
        download.passAgain()
        entries[id]?.phase = .chunks(download)
        return [.pass(id, entry.generation)]
    }

    func condition(of id: FileID, now: Duration) -> HydrationCondition {
        guard let entry = entries[id] else { return HydrationCondition() }
        switch entry.phase {
        case .idle: return HydrationCondition(problem: entry.recent?.problem)
        case .preparing, .awaitingCore: return HydrationCondition(stage: .receiving)
        case .whole(let cached): return HydrationCondition(stage: .hydrated, progress: 100, cached: cached)
        case .failed(let problem): return HydrationCondition(problem: problem)
        case .chunks(let download):
            let failure = download.failures.values.max { $0.answeredUntil < $1.answeredUntil }
            let isTriedAlone = entry.opens > 0 || wantsWhole(entry, download)
            return HydrationCondition(
                stage: download.isComplete ? .hydrated : .receiving, progress: download.progress,
                problem: download.dead ?? download.completionProblem ?? failure?.problem,
                nextTry: isTriedAlone ? download.nextTry.map { max($0 - now, .zero) } : nil,
                cached: download.presentBytes)
        }
    }

    func current(_ id: FileID, _ generation: Generation) -> Entry? {
        guard let entry = entries[id], entry.generation == generation else { return nil }
        return entry
    }
}
