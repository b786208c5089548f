import ChatCore

/// Readers: what they find, how long they wait, and who gives up.
extension HydrationMachine {
    /// Where a range of the content is, which must not reach beyond its end.
    mutating func locate(_ id: FileID, _ range: Range<UInt64>, now: Duration) -> (Place, [Action]) {
        guard let entry = entries[id] else { return (.failed(.deleted), []) }
        switch entry.phase {
        case .whole: return (.whole, [])
        case .failed(let problem): return (.failed(problem), [])
        case .idle where entry.isRemoved: return (.failed(.deleted), [])
        case .idle, .preparing, .awaitingCore:
            if let recent = entry.recent, recent.until > now { return (.failed(recent.problem), []) }
            return (.notYet, [])
        case .chunks(let download):
            entries[id]?.readAhead.note(range)
            entries[id]?.lastUse = now
            let noted = noteReading(id, download)
            guard let start = download.place(of: range) else {
                return (download.problem(for: range, now: now).map(Place.failed) ?? .notYet, noted)
            }
            return (.stream(start), download.isComplete ? noted : noted + schedule(now: now))
        }
    }

    /// A reader waits for a range. It is answered by `wake`, at once or later, at the latest when
    /// `patience` has passed without a byte arriving of the chunks that it needs, or 20 times that
    /// in all; while the core fetches the whole, since it last had more of it.
    mutating func wait(
        _ waiter: WaiterID, _ id: FileID, for goal: Goal, patience: Duration, now: Duration
    ) -> [Action] {
        guard let entry = entries[id] else { return [.wake(waiter, .deleted)] }
        if let recent = entry.recent, recent.until > now { return [.wake(waiter, recent.problem)] }
        if case .chunks(let download) = entry.phase, case .bytes(let range) = goal,
            let problem = download.problem(for: range, now: now)
        {
            return [.wake(waiter, problem)]
        }
        awaited.insert(id)
        entries[id]?.waiters.append(Waiter(id: waiter, goal: goal, patience: patience, now: now))
        var actions: [Action] = []
        if case .idle = entry.phase, !entry.isRemoved { actions = prepare(id) }
        if goal == .whole { actions += completeAgain(id) }
        return actions + evaluate(id) + schedule(now: now)
    }

    /// A reader gave up. The others, and what is on its way, go on.
    mutating func leave(_ waiter: WaiterID, _ id: FileID) {
        entries[id]?.waiters.removeAll { $0.id == waiter }
    }

    /// Bytes of a chunk are a sign of life for who needs it.
    mutating func grantPatience(_ id: FileID, chunk: Int, now: Duration) {
        guard case .chunks(let download) = entries[id]?.phase else { return }
        grantPatience(id, now: now) { download.isProgress(chunk, for: $0) }
    }

    /// Those who are concerned wait as long as they are ready to, from now on, but not beyond their end.
    mutating func grantPatience(_ id: FileID, now: Duration, for isConcerned: (Goal) -> Bool = { _ in true })
    {
        guard let waiters = entries[id]?.waiters else { return }
        for index in waiters.indices where isConcerned(waiters[index].goal) {
            entries[id]?.waiters[index].grantPatience(now: now)
        }
    }

    /// Their end moves on too.
    mutating func renewPatience(_ id: FileID, now: Duration) {
        guard let waiters = entries[id]?.waiters else { return }
        for index in waiters.indices { entries[id]?.waiters[index].renew(now: now) }
    }

    /// Answers who has waited long enough, and looks again at what may be fetched.
    mutating func tick(now: Duration) -> [Action] {
        var actions: [Action] = []
        for id in awaited.sorted() {
            guard var entry = entries[id] else { continue }
            let late = entry.waiters.filter { $0.deadline <= now }
            guard !late.isEmpty else { continue }
            entry.waiters.removeAll { $0.deadline <= now }
            if case .chunks(var download) = entry.phase {
                for case .bytes(let range) in late.map(\.goal) {
                    download.timedOut(range, now: now, settings: settings)
                }
                entry.phase = .chunks(download)
            } else {
                entry.recent = (.timedOut, now + settings.failureMemory)
            }
            entries[id] = entry
            actions += late.map { .wake($0.id, .timedOut) } + [.changed(id)]
        }
        return actions + retry(now: now) + schedule(now: now)
    }
}
