import ChatCore

/// Files that are received to their end whether or not somebody reads them, as often as it takes.
extension HydrationMachine {
    /// Keeps a file whole from now on; also how a pinned file of an earlier mount is taken up again.
    mutating func pin(_ item: ChatItem, _ file: ChatFile, now: Duration) -> [Action] {
        pinned.insert(file.id)
        if entries[file.id] == nil {
            var entry = Entry(item: item, file: file)
            entry.lastUse = now
            entries[file.id] = entry
        }
        return update(item, now: now) + attempt(file.id) + schedule(now: now)
    }

    /// What is at hand stays for now; what is under way ends, unless somebody else wants it.
    mutating func unpin(_ id: FileID, now: Duration) -> [Action] {
        pinned.remove(id)
        return forgetIfUseless(id) + schedule(now: now)
    }

    func isWished(_ entry: Entry) -> Bool { !entry.isRemoved && pinned.contains(entry.file.id) }

    /// Something changed that may have stood in the way of many files: their next try is now.
    mutating func tryAgain(now: Duration) -> [Action] {
        let all = retrying.sorted()
        retrying = []
        return all.flatMap { attempt($0) } + schedule(now: now)
    }

    /// The next try of those whose pause is over.
    mutating func retry(now: Duration) -> [Action] {
        var actions: [Action] = []
        for id in retrying.sorted() {
            guard let entry = entries[id], isWished(entry), let nextTry = entry.nextTry else {
                retrying.remove(id)
                continue
            }
            guard nextTry <= now else { continue }
            retrying.remove(id)
            actions += attempt(id)
        }
        return actions
    }

    /// It could not be prepared or stored, for a reason that may pass.
    mutating func postpone(_ entry: inout Entry, now: Duration) {
        guard isWished(entry) else { return }
        entry.failedTries += 1
        entry.nextTry = now + settings.pause(afterFailures: entry.failedTries)
        retrying.insert(entry.file.id)
    }

    /// Begins, or goes on, with a file that nobody need be waiting for.
    mutating func attempt(_ id: FileID) -> [Action] {
        guard let entry = entries[id], isWished(entry) else { return [] }
        entries[id]?.nextTry = nil
        if case .idle = entry.phase { return prepare(id) }
        return completeAgain(id)
    }
}
