import ChatCore

/// What the hydrator reports back about the actions it carried out.
extension HydrationMachine {
    enum Preparation: Sendable {
        case chunks(ChunkLayout)
        case whole
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
        switch preparation {
        case .chunks(let layout):
            var download = ChunkDownload(layout: layout, contentSize: entry.file.size)
            if entry.isRemoved { download.dead = .deleted }
            entries[id]?.phase = .chunks(download)
            rotation.append(id)
            return evaluate(id) + schedule(now: now) + [.changed(id)]
        case .whole:
            entries[id]?.phase = .whole
            return evaluate(id) + [.changed(id)]
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
            actions = retire(&entry, id, .failed(problem))
        } else {
            actions = retire(&entry, id, .idle)
            entry.recent = (problem, now + settings.failureMemory)
        }
        actions += entry.waiters.map { .wake($0.id, problem) }
        entry.waiters = []
        entries[id] = entry
        return actions
    }

    /// - Parameter contentOffset: with the first chunk, from the header.
    mutating func arrived(
        _ id: FileID, _ generation: Generation, chunk: Int, contentOffset: UInt64?, now: Duration
    ) -> [Action] {
        landed(id, chunk)
        guard var entry = current(id, generation), case .chunks(var download) = entry.phase else {
            return schedule(now: now)
        }
        download.arrived(chunk, contentOffset: contentOffset)
        var actions: [Action] = [.changed(id)]
        if download.isComplete && !download.isCompleting {
            leaveRotation(id)
            if download.dead == nil {
                download.isCompleting = true
                actions.append(.complete(id, generation))
            }
        }
        entry.phase = .chunks(download)
        entries[id] = entry
        grantPatience(id, now: now)
        return actions + evaluate(id) + schedule(now: now)
    }

    /// Bytes of a chunk are coming: neither has its relay fallen silent, nor are its readers late.
    mutating func progressed(_ id: FileID, chunk: Int, now: Duration) -> [Action] {
        for index in flights.indices where flights[index].file == id && flights[index].chunk == chunk {
            flights[index].lastSign = now
        }
        grantPatience(id, now: now)
        return []
    }

    mutating func grantPatience(_ id: FileID, now: Duration) {
        guard let count = entries[id]?.waiters.count else { return }
        for index in 0..<count {
            guard let patience = entries[id]?.waiters[index].patience else { continue }
            entries[id]?.waiters[index].deadline = now + patience
        }
    }

    mutating func fetchFailed(
        _ id: FileID, _ generation: Generation, chunk: Int, _ problem: FileProblem, now: Duration
    ) -> [Action] {
        landed(id, chunk)
        guard var entry = current(id, generation), case .chunks(var download) = entry.phase else {
            return schedule(now: now)
        }
        let needing = entry.waiters.filter { download.needed(for: $0.range).contains(chunk) }
        download.failed(chunk, problem, now: now, settings: settings)
        entry.phase = .chunks(download)
        entry.waiters.removeAll { waiter in needing.contains { $0.id == waiter.id } }
        entries[id] = entry
        var actions: [Action] = needing.map { .wake($0.id, problem) } + [.changed(id)]
        if problem.isFinal { actions.append(.abandon(id, problem)) }
        return actions + evaluate(id) + schedule(now: now)
    }

    /// Blocks of a chunk could not be read back: it is fetched again when somebody wants it.
    mutating func lost(_ id: FileID, _ generation: Generation, chunk: Int) {
        guard let entry = current(id, generation), case .chunks(var download) = entry.phase else { return }
        download.lost(chunk)
        entries[id]?.phase = .chunks(download)
        if !rotation.contains(id) { rotation.append(id) }
    }

    mutating func completed(_ id: FileID, _ generation: Generation) -> [Action] {
        guard current(id, generation) != nil else { return [] }
        entries[id]?.phase = .whole
        return evaluate(id) + [.changed(id)]
    }

    /// The whole is what was described, and the core makes the durable copy itself: served from the cache.
    mutating func checked(_ id: FileID, _ generation: Generation) -> [Action] {
        guard let entry = current(id, generation), case .chunks(var download) = entry.phase else { return [] }
        download.isCompleting = false
        download.isChecked = true
        entries[id]?.phase = .chunks(download)
        return [.changed(id)]
    }

    /// The whole is not what was described, or could not be stored. In the first case nothing of it is
    /// ever served again; in the second the chunks stay, and opening the file tries once more.
    mutating func completionFailed(
        _ id: FileID, _ generation: Generation, _ problem: FileProblem
    ) -> [Action] {
        guard var entry = current(id, generation), case .chunks(var download) = entry.phase else { return [] }
        guard problem.kind == .damaged else {
            download.isCompleting = false
            download.completionProblem = problem
            entries[id]?.phase = .chunks(download)
            return [.changed(id)]
        }
        var actions = retire(&entry, id, .failed(problem))
        actions += entry.waiters.map { .wake($0.id, problem) }
        entry.waiters = []
        entries[id] = entry
        return actions + [.drop(id), .invalidated(id), .abandon(id, problem)]
    }

    /// Tries again to store a whole whose storing failed.
    mutating func completeAgain(_ id: FileID) -> [Action] {
        guard let entry = entries[id], case .chunks(var download) = entry.phase, download.isComplete,
            !download.isCompleting, !download.isChecked, download.dead == nil
        else { return [] }
        download.isCompleting = true
        download.completionProblem = nil
        entries[id]?.phase = .chunks(download)
        return [.complete(id, entry.generation)]
    }

    func condition(of id: FileID, now: Duration) -> HydrationCondition {
        guard let entry = entries[id] else { return HydrationCondition() }
        switch entry.phase {
        case .idle: return HydrationCondition(problem: entry.recent?.problem)
        case .preparing, .awaitingCore: return HydrationCondition(stage: .receiving)
        case .whole: return HydrationCondition(stage: .hydrated, progress: 100)
        case .failed(let problem): return HydrationCondition(problem: problem)
        case .chunks(let download):
            let failure = download.failures.values.max { $0.answeredUntil < $1.answeredUntil }
            return HydrationCondition(
                stage: download.isComplete ? .hydrated : .receiving, progress: download.progress,
                problem: download.dead ?? download.completionProblem ?? failure?.problem,
                cached: download.presentBytes)
        }
    }

    private func current(_ id: FileID, _ generation: Generation) -> Entry? {
        guard let entry = entries[id], entry.generation == generation else { return nil }
        return entry
    }
}
