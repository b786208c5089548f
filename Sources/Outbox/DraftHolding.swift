// What is removed keeps its bytes for who knows it still, as an unlinked file does on any disk: for those who have
// it open, and for those who may open it by its number.
extension Draft {
    /// Keeps the bytes, also when the draft is removed, until `letGo`. False when they are gone already. From
    /// memory.
    public func hold() -> Bool {
        record.withLock { record in
            guard !record.isGone else { return false }
            record.holders += 1
            return true
        }
    }

    /// Ends one `hold`. Blocks on the disk where that was the last use of a removed draft.
    public func letGo() {
        record.withLock { $0.holders -= 1 }
        removeIfUnused()
    }

    /// After the removal, and after each use that ended: the last one takes the bytes along.
    func removeIfUnused() {
        let spool: String? = record.withLock { record in
            guard record.phase == .removed, !record.isGone, record.writers.isEmpty, record.readers == 0,
                record.holders == 0
            else { return nil }
            record.isGone = true
            return record.entry.spool
        }
        if let spool { room.spool.remove(spool) }
    }
}
