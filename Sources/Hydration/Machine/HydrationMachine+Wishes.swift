import ChatCore

/// Files that are received to their end whether or not somebody reads them, as often as it takes.
extension HydrationMachine {
    /// Keeps a file whole from now on.
    mutating func pin(_ item: ChatItem, _ file: ChatFile, now: Duration) -> [Action] {
        pinned.insert(file.id)
        return resume(item, file, now: now)
    }

    /// Goes on with what an earlier mount left pinned or unfinished.
    mutating func resume(_ item: ChatItem, _ file: ChatFile, now: Duration) -> [Action] {
        // The core has come to its end meanwhile: opening it can wait for a reader.
        if file.status.isReadable, !pinned.contains(file.id) { return finished(file.id) }
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

    func isWished(_ entry: Entry) -> Bool {
        !entry.isRemoved && (pinned.contains(entry.file.id) || unfinished.contains(entry.file.id))
    }

    /// After a read: whether the file is one to be finished from now on. What the core receives itself, it
    /// finishes itself.
    mutating func noteReading(_ id: FileID, _ download: ChunkDownload) -> [Action] {
        guard settings.finishesWhatWasRead, !download.isReceivedByCore, download.dead == nil,
            let entry = entries[id], !entry.isRemoved,
            entry.readAhead.total > download.layout.size(of: 0), unfinished.insert(id).inserted
        else { return [] }
        return [.noteUnfinished]
    }

    /// It is here, will never come, or was let go of.
    mutating func finished(_ id: FileID) -> [Action] {
        unfinished.remove(id) == nil ? [] : [.noteUnfinished]
    }

    /// Something changed that may have stood in the way of many files: their next try is now, and who reads
    /// one gets no answer of before.
    mutating func tryAgain(now: Duration) -> [Action] {
        for id in entries.keys { entries[id]?.recent = nil }
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
