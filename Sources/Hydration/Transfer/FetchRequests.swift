/// The chunks that one file wants to be fetched, each list in order and no longer than can be under way.
struct FetchRequests: Hashable, Sendable {
    /// Somebody waits for them.
    var demand: [Int] = []
    /// Ahead of readers, or of who waits for the whole.
    var ahead: [Int] = []
    /// Received for good, and what failed and is tried again.
    var background: [Int] = []
    /// Somebody has use for what is under way, too.
    var isWanted = false

    var isEmpty: Bool { demand.isEmpty && ahead.isEmpty && background.isEmpty }

    init() {}

    /// - Parameter wantsWhole: received to its end without a reader.
    init(
        _ chunks: ChunkMap, _ waiting: WaitingReaders, _ readAhead: ReadAhead, isOpen: Bool, wantsWhole: Bool,
        isPinned: Bool, settings: HydrationSettings, now: Duration
    ) {
        isWanted = isOpen || !waiting.isEmpty || wantsWhole
        if chunks.isComplete { return }
        let limit = settings.chunksPerFile + settings.moreFromFar + settings.requestsAheadToFar
        for range in waiting.ranges where demand.count < limit {
            let missing = chunks.demanded(for: range, limit: limit)
            demand += missing.filter { !demand.contains($0) }.prefix(limit - demand.count)
        }
        if waiting.waitForWhole {
            // Who waits for the whole is no reader: its file competes with what is read ahead.
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
}
