import ChatCore

/// What is let go of when room is wanted. Never what is open, waited for, pinned, or just being handed to
/// the core.
extension HydrationMachine {
    /// The file that was used longest ago goes from the cache, among those that have bytes there; nil when
    /// nothing may go. Pages of the kernel stay: what they hold is right.
    /// - Parameter spared: the file that the room is for.
    mutating func evictOldest(sparing spared: FileID? = nil) -> [Action]? {
        let oldest =
            entries
            .filter { $0.key != spared && isEvictable($0.key, $0.value) && cached($0.value) > 0 }
            .min { $0.value.lastUse < $1.value.lastUse }
        return oldest.map { letGo($0.key) + [.changed($0.key)] }
    }

    /// Back to what the core has, by somebody's wish. nil while it is open, pinned or being handed over.
    mutating func dehydrate(_ id: FileID) -> [Action]? {
        guard let entry = entries[id] else { return [] }
        guard isEvictable(id, entry) else { return nil }
        return letGo(id) + [.invalidated(id), .changed(id)]
    }

    /// All that may go, at once.
    mutating func clear() -> [Action] {
        let ids = entries.filter { isEvictable($0.key, $0.value) }.map(\.key).sorted()
        return ids.flatMap { letGo($0) + [.invalidated($0), .changed($0)] }
    }

    /// Stored files beyond the number that is kept open, unused ones first, and some more, so that it need not be
    /// looked for them at every close.
    mutating func closeUnused() -> [Action] {
        guard entries.count > settings.filesKeptOpen else { return [] }
        let wholes = entries.filter { if case .whole(cached: 0) = $0.value.phase { true } else { false } }
        let excess = wholes.count - settings.filesKeptOpen
        guard excess > 0 else { return [] }
        let unused = wholes.filter { isEvictable($0.key, $0.value) }
            .sorted { $0.value.lastUse < $1.value.lastUse }
        return unused.prefix(excess + settings.filesKeptOpen / 8).flatMap {
            letGo($0.key) + [.changed($0.key)]
        }
    }

    private func isEvictable(_ id: FileID, _ entry: Entry) -> Bool {
        guard entry.opens == 0, entry.waiters.isEmpty, !pinned.contains(id) else { return false }
        switch entry.phase {
        case .chunks(let download): return !download.isCompleting
        case .whole, .idle, .failed: return true
        case .preparing, .awaitingCore: return false
        }
    }

    private func cached(_ entry: Entry) -> UInt64 {
        switch entry.phase {
        case .chunks(let download): download.presentBytes
        case .whole(let cached): cached
        case .idle, .preparing, .awaitingCore, .failed: 0
        }
    }

    private mutating func letGo(_ id: FileID) -> [Action] {
        guard let entry = entries[id] else { return [] }
        leaveRotation(id)
        entries[id] = nil
        let actions = finished(id) + [.drop(id)]
        if case .chunks(let download) = entry.phase, download.dead == nil {
            return actions + [.abandon(id, nil)]
        }
        return actions
    }
}
