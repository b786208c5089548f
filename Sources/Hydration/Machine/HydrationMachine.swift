import ChatCore

/// Every file that is open or has blocks in the cache, who waits for what, and what is on its way. Pure:
/// events go in with the time, actions come out for the hydrator to carry out. Times are counted from
/// the hydrator's start.
struct HydrationMachine: Sendable {
    let settings: HydrationSettings
    var entries: [FileID: Entry] = [:]
    /// Files with chunks to fetch, who was served longest ago first.
    var rotation: [FileID] = []
    var flights: [Flight] = []
    /// How far away the relays are.
    var distances: RelayDistances
    /// All files that somebody waits for, and some that nobody waits for any more.
    var awaited: Set<FileID> = []
    /// Files that are kept whole, whatever else is evicted.
    var pinned: Set<FileID>
    /// Files that were read past their first chunk and are received to their end.
    var unfinished: Set<FileID>
    /// Files that nobody need be waiting for and that have a next try, and some that need none any more.
    var retrying: Set<FileID> = []
    private var lastGeneration: Generation = 0

    init(settings: HydrationSettings, pinned: Set<FileID> = [], unfinished: Set<FileID> = []) {
        self.settings = settings
        distances = RelayDistances(far: settings.farAfter)
        self.unfinished = settings.finishesWhatWasRead ? unfinished : []
        self.pinned = pinned
    }

    /// Whether time alone can bring something: somebody's deadline, or another try. Asked after every step, so
    /// it looks at no file that is merely kept.
    mutating func needsTicks() -> Bool {
        if !awaited.isEmpty { awaited = awaited.filter { entries[$0]?.waiters.isEmpty == false } }
        return !awaited.isEmpty || !retrying.isEmpty || hasUnwantedFlights
            || rotation.contains { id in
                guard let entry = entries[id], case .chunks(let download) = entry.phase, !entry.isRemoved
                else {
                    return false
                }
                return download.nextTry != nil && (entry.opens > 0 || wantsWhole(entry, download))
            }
    }

    // MARK: - Who has what open

    mutating func open(_ item: ChatItem, _ file: ChatFile, now: Duration) {
        entries[file.id, default: Entry(item: item, file: file)].opens += 1
        entries[file.id]?.lastUse = now
    }

    /// The core's copy was changed or replaced since it was checked: nothing more is served from what was
    /// opened, and who reads next has it checked anew.
    mutating func outdated(_ id: FileID, _ generation: Generation) -> [Action] {
        guard var entry = current(id, generation), !entry.isRemoved, case .whole = entry.phase else {
            return []
        }
        let actions = retire(&entry, id, .idle)
        entries[id] = entry
        return [.drop(id), .invalidated(id)] + actions + attempt(id)
    }

    mutating func close(_ id: FileID, now: Duration) -> [Action] {
        guard var entry = entries[id] else { return [] }
        entry.opens = max(0, entry.opens - 1)
        if entry.opens == 0 { entry.readAhead.forget() }
        entry.lastUse = now
        entries[id] = entry
        guard entry.opens == 0 else { return [] }
        if case .chunks(let download) = entry.phase, download.isReceivedByCore, entry.file.status.isGivenUp,
            !entry.isRemoved
        {
            leaveRotation(id)
            return prepare(id) + closeUnused() + cancelUnwanted(now: now)
        }
        return forgetIfUseless(id) + closeUnused() + cancelUnwanted(now: now)
    }

    /// What the core said about an item.
    mutating func update(_ item: ChatItem, now: Duration) -> [Action] {
        guard let file = item.file, var entry = entries[file.id], !entry.isRemoved else { return [] }
        let before = entry.file
        entry.item = item
        entry.file = file
        if before.status != file.status { entry.recent = nil }
        entries[file.id] = entry
        switch entry.phase {
        case .awaitingCore:
            if file.status.isReadable || (file.status.isDescribed && !before.status.isDescribed) {
                return prepare(file.id)
            }
            if let problem = file.status.problem { return preparationFailed(file.id, problem, now: now) }
            // The core gets on with it.
            if file.status.hasMore(than: before.status) { renewPatience(file.id, now: now) }
            grantPatience(file.id, now: now)
            return [.changed(file.id)]
        case .chunks(var download):
            // The core was faster than the chunks, or has what could not be fetched.
            if file.status.isReadable, !before.status.isReadable, !download.isComplete,
                !download.isCompleting
            {
                leaveRotation(file.id)
                return prepare(file.id)
            }
            // It gave up its own copy: the bytes come anew, for one that is kept here. Readers who have all
            // of them go on with those.
            if download.isReceivedByCore, file.status.isGivenUp, !download.isComplete || entry.opens == 0 {
                leaveRotation(file.id)
                return prepare(file.id)
            }
            guard let problem = file.status.problem, problem.isFinal, download.dead == nil else { return [] }
            download.dead = problem
            entries[file.id]?.phase = .chunks(download)
            return evaluate(file.id) + [.changed(file.id)]
        case .failed where before.status != file.status:
            entries[file.id]?.phase = .idle
            return attempt(file.id) + forgetIfUseless(file.id)
        case .idle where before.status != file.status:
            return attempt(file.id)
        case .idle, .preparing, .whole, .failed:
            return []
        }
    }

    /// The item is deleted. `atOnce`: also what open readers could still have had.
    mutating func remove(_ id: FileID, atOnce: Bool) -> [Action] {
        var actions = finished(id)
        guard var entry = entries[id] else { return actions }
        entry.isRemoved = true
        if atOnce {
            actions += retire(&entry, id, .failed(.deleted))
            actions += [.erase(id), .invalidated(id)]
        } else {
            switch entry.phase {
            case .chunks(var download):
                download.dead = download.dead ?? .deleted
                entry.phase = .chunks(download)
            case .preparing, .awaitingCore: actions += retire(&entry, id, .idle)
            case .idle, .whole, .failed: break
            }
        }
        entries[id] = entry
        return actions + evaluate(id) + forgetIfUseless(id)
    }

    // MARK: - Inside

    mutating func prepare(_ id: FileID) -> [Action] {
        lastGeneration += 1
        entries[id]?.generation = lastGeneration
        entries[id]?.phase = .preparing
        return [.prepare(id, lastGeneration), .changed(id)]
    }

    /// Wakes the waiters whose answer is known.
    mutating func evaluate(_ id: FileID) -> [Action] {
        guard var entry = entries[id], !entry.waiters.isEmpty else { return [] }
        var actions: [Action] = []
        entry.waiters.removeAll { waiter in
            switch entry.phase {
            case .whole: actions.append(.wake(waiter.id, nil))
            case .failed(let problem): actions.append(.wake(waiter.id, problem))
            case .idle where entry.isRemoved: actions.append(.wake(waiter.id, .deleted))
            case .idle, .preparing, .awaitingCore: return false
            case .chunks(let download):
                if download.satisfies(waiter.goal) {
                    actions.append(.wake(waiter.id, nil))
                } else if let problem = download.dead {
                    actions.append(.wake(waiter.id, problem))
                } else {
                    return false
                }
            }
            return true
        }
        entries[id] = entry
        return actions
    }

    /// Ends what the entry was doing: answers of the attempt so far are not listened to any more.
    mutating func retire(_ entry: inout Entry, _ id: FileID, _ phase: Phase) -> [Action] {
        lastGeneration += 1
        entry.generation = lastGeneration
        entry.phase = phase
        leaveRotation(id)
        return [.changed(id)]
    }

    mutating func leaveRotation(_ id: FileID) { rotation.removeAll { $0 == id } }

    /// An entry that nobody has open and that holds nothing is no entry.
    mutating func forgetIfUseless(_ id: FileID) -> [Action] {
        guard let entry = entries[id], entry.opens == 0, entry.waiters.isEmpty else { return [] }
        if entry.isRemoved {
            leaveRotation(id)
            entries[id] = nil
            return [.drop(id), .invalidated(id)]
        }
        if case .idle = entry.phase, entry.recent == nil, !isWished(entry) { entries[id] = nil }
        return []
    }
}
