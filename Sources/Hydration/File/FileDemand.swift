import XFTP

/// Demand for bytes of one file: open handles, waiting readers, read-ahead and retention. Decides which
/// chunks to request and whether the file is unused. A value without I/O.
struct FileDemand: Sendable {
    private(set) var opens = 0
    private(set) var lastUse: Duration
    /// The item was deleted. No more bytes are fetched; open handles keep the available bytes.
    private(set) var isRemoved = false
    var waiting = WaitingReaders()
    private var readAhead = ReadAhead()
    private(set) var retention: Retention

    init(retention: Retention, now: Duration) {
        self.retention = retention
        lastUse = now
    }

    /// True without open handles and waiting readers.
    var isUnused: Bool { opens == 0 && waiting.isEmpty }
    /// True if a reader waits or the file is retained.
    var isWanted: Bool { !waiting.isEmpty || isRetained }
    var isPinned: Bool { retention.contains(.pinned) }
    /// True if the file is received completely, with retries, without a reader.
    var isRetained: Bool { !isRemoved && !retention.isEmpty }

    /// Returns true if the complete file is fetched without a reader.
    func wantsWhole(_ chunks: ChunkMap) -> Bool {
        isRetained && chunks.finalProblem == nil
    }

    /// Returns true if failed chunks are retried at their time.
    func awaitsRetry(of chunks: ChunkMap) -> Bool { opens > 0 || wantsWhole(chunks) }

    /// Returns true if readers took enough to finish the file: more than its first chunk. Files that the core
    /// receives are finished by the core.
    func wasReadOn(_ chunks: ChunkMap) -> Bool {
        !isRemoved && !chunks.isReceivedByCore && chunks.finalProblem == nil
            && readAhead.total > chunks.layout.size(of: 0)
    }

    /// Returns true if a sequential reader has yet to read this chunk.
    func awaits(_ chunk: Int, of chunks: ChunkMap) -> Bool {
        readAhead.hasReader(before: chunk, chunk: chunks.chunk(at:))
    }

    func fetchRequests(
        for chunks: ChunkMap, settings: HydrationSettings, now: Duration
    ) -> FetchRequests {
        let requests = FetchRequests(
            chunks, waiting, readAhead, isOpen: opens > 0, wantsWhole: wantsWhole(chunks), isPinned: isPinned,
            settings: settings, now: now)
        return isRemoved ? FetchRequests(checks: requests.checks) : requests
    }

    // MARK: - Events

    mutating func opened(now: Duration) {
        opens += 1
        lastUse = now
    }

    /// Returns true if this was the last open handle. Read positions are then forgotten.
    mutating func closed(now: Duration) -> Bool {
        assert(opens > 0, "closed more often than opened")
        opens -= 1
        lastUse = now
        guard opens == 0 else { return false }
        readAhead.forget()
        return true
    }

    /// Records a read. Returns false if the wanted chunks are unchanged.
    /// - Parameters:
    ///   - counts: If true, the read counts for read-ahead.
    ///   - chunk: Maps a content position to its chunk.
    @discardableResult
    mutating func read(
        _ range: Range<UInt64>, counts: Bool, now: Duration, chunk: (UInt64) -> Int
    ) -> Bool {
        lastUse = now
        return counts && readAhead.note(range, chunk: chunk)
    }

    /// Returns false if the file was already retained for this reason.
    mutating func retain(_ reason: Retention) -> Bool { retention.insert(reason).inserted }

    /// Returns false if the file was not retained for this reason.
    mutating func letGo(_ reason: Retention) -> Bool { retention.remove(reason) != nil }

    mutating func removed() { isRemoved = true }
}
