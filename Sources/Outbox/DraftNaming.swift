import ChatCore

// Renaming and removing, under the draft's turn (`Outbox.rename`, `Outbox.remove`).
extension Draft {
    /// The draft, in phase draft or staging, gets a name. One that replaces another takes its place in
    /// the same transaction.
    func noteRenamed(to name: [UInt8], replacing other: Draft?) throws {
        let seen = room.seen.seconds
        var (entry, isOpen) = record.withLock { ($0.entry, !$0.writers.isEmpty) }
        entry.name = name
        entry.touched = seen
        try room.journal.apply([entry], removing: [other?.id].compactMap { $0 })
        record.withLock { record in
            record.entry.name = name
            record.entry.touched = seen
            // A copy that was being made has the old name.
            record.version += 1
            record.phase = .draft
        }
        other?.noteGone()
        if !isOpen { settle() }
    }

    /// It is removed by its user: as if it had never been, as far as that is still possible.
    func noteRemoved() throws {
        let (phase, isDurable) = record.withLock { ($0.phase, $0.entry.isDurable) }
        guard phase != .sent, phase != .removed else { throw OutboxError.immutable }
        // A power cut must not bring back a row that sends it after all.
        let mustLast = isDurable || ![.draft, .staging, .recovered].contains(phase)
        try room.journal.apply(removing: [id], durably: mustLast)
        noteGone(isInFlight: phase == .sending)
    }

    /// The row is gone: so are the files, but for who knows them still. What the core is reading at this
    /// moment is left to the courier, who comes back from it.
    func noteGone(isInFlight: Bool = false) {
        let entry = record.withLock { record in
            record.phase = .removed
            record.version += 1
            return record.entry
        }
        stopFollowing()
        room.quiet.cancel(self)
        room.order.leave(self)
        removeIfUnused()
        if let staged = entry.staged, !isInFlight { room.staging.remove(staged) }
    }
}
