import ChatCore

/// Copies of a file that the disk has not kept: the one that is being written, and the one that was stored.
extension HydrationMachine {
    /// The disk has not kept what was written of these chunks: they come once more, whether or not somebody
    /// reads them.
    /// - Parameter endsCompletion: found when the whole was to be handed over, which waits for them now. What a
    ///   reader meets meanwhile does not begin that a second time.
    mutating func damaged(
        _ id: FileID, _ generation: Generation, chunks: [Int], endsCompletion: Bool, now: Duration
    ) -> [Action] {
        guard let entry = current(id, generation), case .chunks(var download) = entry.phase else { return [] }
        for chunk in chunks { download.noteDamage(chunk) }
        if endsCompletion { download.isCompleting = false }
        entries[id]?.phase = .chunks(download)
        if !rotation.contains(id) { rotation.append(id) }
        return schedule(now: now) + [.changed(id)]
    }

    /// A chunk is where the disk had lost it.
    mutating func mended(_ id: FileID, _ generation: Generation, chunk: Int, now: Duration) -> [Action] {
        guard let entry = current(id, generation), case .chunks(var download) = entry.phase else { return [] }
        download.mended(chunk)
        let actions = completeWhenPassed(id, generation, &download)
        entries[id]?.phase = .chunks(download)
        grantPatience(id, now: now) { $0 == .whole }
        return actions
    }

    /// The check of its stored copy gets on: who waits for it waits as long as it does.
    mutating func verifying(_ id: FileID, _ generation: Generation, now: Duration) -> [Action] {
        guard let entry = current(id, generation), case .preparing = entry.phase else { return [] }
        renewPatience(id, now: now)
        grantPatience(id, now: now)
        return []
    }

    /// Its durable copy is damaged and the core offers it once more: it is fetched as one that was never here,
    /// and to its end, as it had been.
    mutating func offeredAgain(_ id: FileID, _ generation: Generation, _ item: ChatItem) -> [Action] {
        guard let file = item.file, var entry = current(id, generation), case .preparing = entry.phase,
            !entry.isRemoved
        else { return [] }
        entry.item = item
        entry.file = file
        entries[id] = entry
        let isNoted =
            settings.finishesWhatWasRead && !file.status.isReadable && unfinished.insert(id).inserted
        return [.invalidated(id)] + (isNoted ? [.noteUnfinished] : []) + prepare(id)
    }
}
