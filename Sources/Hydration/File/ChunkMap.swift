import ChatCore

/// Which chunks of one file are available, which are being fetched, which failed, and how far the storage
/// pipeline has come with them. A value without I/O; positions of the content are those that readers know,
/// positions of the stream those of the chunks.
struct ChunkMap: Sendable {
    enum State: Hashable, Sendable {
        case missing
        case inFlight
        case available
    }

    struct Failure: Hashable, Sendable {
        var problem: FileProblem
        /// Readers get this answer until then.
        var answeredUntil: Duration
        /// Nothing is fetched ahead before.
        var retryAt: Duration
        var count: Int
    }

    /// Length of the header in front of the content: from the shortest name to the longest, with the
    /// 8 bytes of the length (simplexmq `FileHeader`).
    private static let shortestHeader: UInt64 = 10
    private static let longestHeader: UInt64 = 521

    let layout: ChunkLayout
    /// Length of the content, as the message says.
    let contentSize: UInt64
    /// The core fetches its durable copy itself.
    let isReceivedByCore: Bool
    private(set) var states: [State]
    private(set) var availableBytes: UInt64 = 0
    /// Where the content begins in the stream: known with the first chunk.
    private(set) var contentOffset: UInt64?
    private(set) var failures: [Int: Failure] = [:]
    /// Why missing chunks will never come.
    private(set) var finalProblem: FileProblem?
    /// So many chunks, from the first on, have gone through the storage pipeline.
    private(set) var storedCount = 0
    /// Of these, chunks that the disk has not kept: they are fetched once more.
    private(set) var damaged: Set<Int> = []
    private(set) var completion = Completion.open

    /// How far the file as a whole is.
    enum Completion: Hashable, Sendable {
        case open
        /// All chunks have gone through the pipeline, and the whole is being handed to the core.
        case inProgress
        /// The last attempt to store the whole failed, for a reason that may pass.
        case failed(FileProblem)
        /// The whole has been checked; its durable copy is the core's affair.
        case verified
    }

    init(layout: ChunkLayout, contentSize: UInt64, isReceivedByCore: Bool) {
        self.layout = layout
        self.contentSize = contentSize
        self.isReceivedByCore = isReceivedByCore
        states = Array(repeating: .missing, count: layout.count)
    }

    var isComplete: Bool { availableBytes == layout.streamSize }
    var progress: Int { Int(Double(availableBytes) / Double(layout.streamSize) * 100) }

    /// All is available, and nothing more is being done to store it.
    var isSettled: Bool {
        switch completion {
        case .open, .inProgress: isComplete && finalProblem != nil
        case .failed, .verified: isComplete
        }
    }

    var completionProblem: FileProblem? {
        if case .failed(let problem) = completion { problem } else { nil }
    }

    /// What stands in the way at present.
    var problem: FileProblem? {
        finalProblem ?? completionProblem
            ?? failures.values.max { $0.answeredUntil < $1.answeredUntil }?.problem
    }

    // MARK: - For readers

    /// The chunks that a range of the content needs. Before the header is known also the first one, and
    /// the others by the limits of where they can be.
    func needed(for range: Range<UInt64>) -> [Int] {
        guard !range.isEmpty else { return contentOffset == nil ? [0] : [] }
        if let contentOffset {
            return Array(
                layout.chunks(contentOffset + range.lowerBound..<contentOffset + range.upperBound))
        }
        let likely = layout.chunks(
            range.lowerBound + Self.shortestHeader..<range.upperBound + Self.longestHeader)
        return likely.first == 0 ? Array(likely) : [0] + likely
    }

    /// Where a range of the content begins in the stream, when all of it is available.
    func position(of range: Range<UInt64>) -> UInt64? {
        guard let contentOffset else { return nil }
        let start = contentOffset + range.lowerBound
        for chunk in layout.chunks(start..<contentOffset + range.upperBound)
        where states[chunk] != .available {
            return nil
        }
        return start
    }

    /// The chunk that holds a position of the content, the number of chunks beyond its end; before the header is
    /// known, one that is none.
    func chunk(at position: UInt64) -> Int {
        guard let contentOffset else { return -1 }
        return position < contentSize ? layout.chunk(at: contentOffset + position) : layout.count
    }

    func satisfies(_ goal: WaitingReaders.Goal) -> Bool {
        switch goal {
        case .bytes(let range): position(of: range) != nil
        case .whole: completion == .verified && isComplete
        }
    }

    /// Whether bytes of a chunk bring somebody nearer to a goal: they are of what it needs, or nothing of that
    /// has been begun, and what is under way has to come before it.
    func isProgress(_ chunk: Int, for goal: WaitingReaders.Goal) -> Bool {
        guard case .bytes(let range) = goal else { return true }
        let needed = needed(for: range)
        return needed.contains(chunk) || !needed.contains { states[$0] == .inFlight }
    }

    /// The problem that a reader of this range gets at once, if any.
    func problem(for range: Range<UInt64>, now: Duration) -> FileProblem? {
        for chunk in needed(for: range) where states[chunk] != .available {
            if let finalProblem { return finalProblem }
            if let failure = failures[chunk], failure.answeredUntil > now { return failure.problem }
        }
        return nil
    }

    // MARK: - What to fetch, in order, at most `limit` chunks

    /// For a reader who waits for this range.
    func demanded(for range: Range<UInt64>, limit: Int) -> [Int] {
        guard finalProblem == nil else { return [] }
        return Array(needed(for: range).lazy.filter { states[$0] == .missing }.prefix(limit))
    }

    /// Ahead of readers, and at last what holds no content but belongs to the whole.
    func ahead(of windows: [ReadAhead.Window], limit: Int, now: Duration) -> [Int] {
        guard finalProblem == nil, let contentOffset else { return [] }
        var chunks: [Int] = []
        for window in windows where window.chunks > 0 && window.position < contentSize {
            let first = layout.chunk(at: contentOffset + window.position)
            for chunk in first...min(first + window.chunks, layout.count - 1)
            where chunks.count < limit && isFetchable(chunk, now: now) && !chunks.contains(chunk) {
                chunks.append(chunk)
            }
        }
        if !chunks.isEmpty { return chunks }
        let content = layout.chunks(contentOffset..<contentOffset + max(contentSize, 1))
        guard content.allSatisfy({ states[$0] == .available }) else { return [] }
        return Array(
            states.indices.lazy.filter {
                !content.contains($0) && isOutstanding($0) && isFetchable($0, now: now)
            }.prefix(limit))
    }

    /// For the whole: the first one, which says where the content begins; then those that the storage pipeline
    /// has not had, and those without content.
    func remaining(limit: Int, now: Duration) -> [Int] {
        guard finalProblem == nil, completionProblem == nil, !isReceivedByCore else { return [] }
        if contentOffset == nil { return isFetchable(0, now: now) ? [0] : [] }
        return Array(
            states.indices.lazy.filter { isOutstanding($0) && isFetchable($0, now: now) }.prefix(limit))
    }

    /// Fetched for a reader in vain, and to be tried again.
    func failedBefore(limit: Int, now: Duration) -> [Int] {
        guard finalProblem == nil, !failures.isEmpty else { return [] }
        return Array(failures.keys.sorted().lazy.filter { isFetchable($0, now: now) }.prefix(limit))
    }

    /// When the next chunk that failed may be tried again; nil when none is missing for that.
    var nextRetry: Duration? {
        guard finalProblem == nil else { return nil }
        return failures.lazy.filter { self.states[$0.key] == .missing }.map(\.value.retryAt).min()
    }

    /// The whole cannot be without its coming, even when nobody reads it.
    private func isOutstanding(_ chunk: Int) -> Bool { chunk >= storedCount || damaged.contains(chunk) }

    private func isFetchable(_ chunk: Int, now: Duration) -> Bool {
        states[chunk] == .missing && (failures[chunk]?.retryAt ?? .zero) <= now
    }

    // MARK: - Events

    /// missing → in flight. False when the chunk is not missing any more, or will never come.
    mutating func started(_ chunk: Int) -> Bool {
        guard states[chunk] == .missing, finalProblem == nil else { return false }
        states[chunk] = .inFlight
        return true
    }

    /// in flight → available.
    /// - Parameter contentOffset: with the first chunk, where the header says that the content begins.
    mutating func arrived(_ chunk: Int, contentOffset: UInt64?) {
        guard states[chunk] == .inFlight else {
            return assertionFailure("chunk \(chunk) arrived while \(states[chunk])")
        }
        states[chunk] = .available
        availableBytes += layout.size(of: chunk)
        failures[chunk] = nil
        if let contentOffset { self.contentOffset = contentOffset }
    }

    /// in flight → missing, or available → missing when it came but could not be kept.
    mutating func failed(
        _ chunk: Int, _ problem: FileProblem, now: Duration, settings: HydrationSettings
    ) {
        switch states[chunk] {
        case .inFlight: break
        case .available: availableBytes -= layout.size(of: chunk)
        case .missing: return
        }
        states[chunk] = .missing
        let count = (failures[chunk]?.count ?? 0) + 1
        failures[chunk] = Failure(
            problem: problem, answeredUntil: now + settings.failureMemory,
            retryAt: now + settings.backoff(afterFailures: count), count: count)
        if problem.isFinal { finalProblem = problem }
    }

    /// in flight → missing, without a failure.
    mutating func cancelled(_ chunk: Int) {
        if states[chunk] == .inFlight { states[chunk] = .missing }
    }

    /// available → missing: its blocks could not be read back, or went for those of others.
    mutating func lost(_ chunk: Int) {
        guard states[chunk] == .available else { return }
        states[chunk] = .missing
        availableBytes -= layout.size(of: chunk)
    }

    /// A reader ran into its deadline: the next ones for the same chunks do not wait as long.
    mutating func timedOut(_ range: Range<UInt64>, now: Duration, settings: HydrationSettings) {
        for chunk in needed(for: range) where states[chunk] != .available {
            failures[chunk] = Failure(
                problem: .timedOut, answeredUntil: now + settings.failureMemory,
                retryAt: failures[chunk]?.retryAt ?? .zero, count: failures[chunk]?.count ?? 0)
        }
    }

    /// What is missing will never come. The first reason stays.
    mutating func end(_ problem: FileProblem) { finalProblem = finalProblem ?? problem }

    // MARK: - The storage pipeline

    /// So many chunks, from the first on, have gone through it. True when the whole is to be handed over now.
    mutating func stored(upTo count: Int) -> Bool {
        storedCount = max(storedCount, min(count, layout.count))
        return completeWhenStored()
    }

    /// A chunk that went through it is not where it was put.
    mutating func noteDamage(_ chunk: Int) {
        lost(chunk)
        if chunk < storedCount { damaged.insert(chunk) }
    }

    /// It was put there once more. True when the whole is to be handed over now.
    mutating func repaired(_ chunk: Int) -> Bool {
        damaged.remove(chunk)
        return completeWhenStored()
    }

    /// open → in progress, when every chunk is where the pipeline put it.
    private mutating func completeWhenStored() -> Bool {
        guard storedCount == layout.count, damaged.isEmpty, completion == .open, finalProblem == nil else {
            return false
        }
        completion = .inProgress
        return true
    }

    /// in progress → open: damage was found at the end.
    mutating func completionInterrupted() {
        if completion == .inProgress { completion = .open }
    }

    /// open or in progress → failed.
    mutating func completionFailed(_ problem: FileProblem) { completion = .failed(problem) }

    /// failed → open: the pipeline goes on where it stopped. False when it had not failed.
    mutating func retryCompletion() -> Bool {
        guard completionProblem != nil, finalProblem == nil else { return false }
        completion = .open
        return true
    }

    /// in progress → verified.
    mutating func verified() {
        guard completion == .inProgress else {
            return assertionFailure("verified while \(completion)")
        }
        completion = .verified
    }
}
