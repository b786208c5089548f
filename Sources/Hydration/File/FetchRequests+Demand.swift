import XFTP

extension FetchRequests {
    /// - Parameter wantsWhole: True if the file is received completely without a reader.
    init(
        _ chunks: ChunkMap, _ waiting: WaitingReaders, _ readAhead: ReadAhead, isOpen: Bool, wantsWhole: Bool,
        isPinned: Bool, settings: HydrationSettings, now: Duration
    ) {
        self.init()
        isWanted = isOpen || !waiting.isEmpty || wantsWhole
        if chunks.isComplete { return }
        let limit = settings.fetching.maxRequests
        for range in waiting.ranges {
            Self.add(chunks.demanded(for: range, limit: limit), to: &demand, limit: limit)
            Self.add(chunks.unchecked(for: range, limit: limit), to: &checks, limit: limit)
        }
        if chunks.bytesHere > chunks.availableBytes {
            let isWhole = wantsWhole || waiting.waitForWhole
            let later =
                isWhole
                ? chunks.allUnchecked(limit: limit)
                : chunks.unchecked(ahead: readAhead.windows(limit: settings.chunksAhead), limit: limit)
            Self.add(later, to: &checks, limit: limit)
        }
        if waiting.waitForWhole {
            // A wait for the whole file is no read, so it competes with read-ahead.
            ahead =
                chunks.contentOffset == nil
                ? chunks.demanded(for: 0..<1, limit: 1) : chunks.remaining(limit: limit, now: now)
        } else {
            let windows = readAhead.windows(limit: settings.chunksAhead)
            ahead = chunks.ahead(of: windows, limit: limit, now: now)
            if ahead.isEmpty, isPinned { ahead = chunks.remaining(limit: limit, now: now) }
        }
        if isOpen { background = chunks.failedBefore(limit: limit, now: now) }
        if background.isEmpty, wantsWhole { background = chunks.remaining(limit: limit, now: now) }
    }

    private static func add(_ chunks: [Int], to list: inout [Int], limit: Int) {
        list += chunks.filter { !list.contains($0) }.prefix(max(0, limit - list.count))
    }
}
