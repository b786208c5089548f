/// Who wants bytes of one file: openings, readers who wait or read on, and what it is retained for. Says what is
/// worth fetching and when nobody wants anything any more; where the bytes come from it does not know. A value
/// without I/O.
struct FileDemand: Sendable {
    private(set) var opens = 0
    private(set) var lastUse: Duration
    /// The item is deleted: nothing is received for it any more, and who has it open keeps what is here.
    private(set) var isRemoved = false
    var waiting = WaitingReaders()
    private var readAhead = ReadAhead()
    private(set) var retention: Retention

    init(retention: Retention, now: Duration) {
        self.retention = retention
        lastUse = now
    }

    /// Nobody has it open or waits for it.
    var isUnused: Bool { opens == 0 && waiting.isEmpty }
    /// Somebody waits for bytes, or it is received to its end.
    var isWanted: Bool { !waiting.isEmpty || isRetained }
    var isPinned: Bool { retention.contains(.pinned) }
    /// Received to its end whether or not somebody reads it, as often as it takes.
    var isRetained: Bool { !isRemoved && !retention.isEmpty }

    /// Received to its end without a reader.
    func wantsWhole(_ chunks: ChunkMap) -> Bool {
        (isRetained || !chunks.damaged.isEmpty) && chunks.finalProblem == nil
    }

    /// Whether somebody has use for another try of what failed, at its time.
    func awaitsRetry(of chunks: ChunkMap) -> Bool { opens > 0 || wantsWhole(chunks) }

    /// Whether so much was read that the file is one to be finished. What the core receives itself, it finishes itself.
    func wasReadOn(_ chunks: ChunkMap) -> Bool {
        !isRemoved && !chunks.isReceivedByCore && chunks.finalProblem == nil
            && readAhead.total > chunks.layout.size(of: 0)
    }

    func fetchRequests(
        for chunks: ChunkMap, settings: HydrationSettings, now: Duration
    ) -> FetchRequests {
        if isRemoved { return FetchRequests() }
        return FetchRequests(
            chunks, waiting, readAhead, isOpen: opens > 0, wantsWhole: wantsWhole(chunks), isPinned: isPinned,
            settings: settings, now: now)
    }

    // MARK: - Events

    mutating func opened(now: Duration) {
        opens += 1
        lastUse = now
    }

    /// True when nobody has it open any more: where they were reading is forgotten.
    mutating func closed(now: Duration) -> Bool {
        assert(opens > 0, "closed more often than opened")
        opens -= 1
        lastUse = now
        guard opens == 0 else { return false }
        readAhead.forget()
        return true
    }

    /// A range of chunks was looked for. False when nothing else is worth fetching now than before.
    /// - Parameters:
    ///   - counts: whether more is fetched for a reader who goes on like this.
    ///   - chunk: that which holds a position of the content.
    @discardableResult
    mutating func read(
        _ range: Range<UInt64>, counts: Bool, now: Duration, chunk: (UInt64) -> Int
    ) -> Bool {
        lastUse = now
        return counts && readAhead.note(range, chunk: chunk)
    }

    /// False when it was retained for this already.
    mutating func retain(_ reason: Retention) -> Bool { retention.insert(reason).inserted }

    /// False when it was not retained for this.
    mutating func letGo(_ reason: Retention) -> Bool { retention.remove(reason) != nil }

    mutating func removed() { isRemoved = true }
}
