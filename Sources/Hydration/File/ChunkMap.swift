import ChatCore
import XFTP

/// State of each chunk of one file, failed fetches, and progress of the file as a whole. A value without
/// I/O. Content positions are those of readers; stream positions are those of chunks.
struct ChunkMap: Sendable {
    enum State: Hashable, Sendable {
        case missing
        case inFlight
        /// On the disk since an earlier mount, and not yet compared with its digest.
        case unchecked
        /// Being compared.
        case inCheck
        /// In memory.
        case available
        /// On the disk, or in memory for a file that the core receives itself.
        case stored

        var isAvailable: Bool { self == .available || self == .stored }
        /// True if no relay is needed.
        var isHere: Bool { self != .missing && self != .inFlight }
    }

    struct Failure: Hashable, Sendable {
        var problem: FileProblem
        /// Until then, readers get this problem without a new try.
        var answeredUntil: Duration
        /// Earliest time of a fetch without a waiting reader.
        var retryAt: Duration
        var count: Int
    }

    /// Header lengths for the shortest and the longest name, including the 8-byte length field (simplexmq
    /// `FileHeader`).
    private static let shortestHeader: UInt64 = 10
    private static let longestHeader: UInt64 = 521

    let layout: ChunkLayout
    /// Length of the content in bytes, from the message.
    let contentSize: UInt64
    /// True if the core downloads its own durable copy.
    let isReceivedByCore: Bool
    private(set) var states: [State]
    private(set) var availableBytes: UInt64 = 0
    /// Also counts chunks that are not checked yet.
    private(set) var bytesHere: UInt64 = 0
    /// Position of the content in the stream, known from the first chunk on.
    private(set) var contentOffset: UInt64?
    private(set) var failures: [Int: Failure] = [:]
    /// The permanent reason why missing chunks cannot arrive.
    private(set) var finalProblem: FileProblem?
    private(set) var completion = Completion.open

    /// Progress of the file as a whole.
    enum Completion: Hashable, Sendable {
        case open
        /// All chunks are stored, and the core is taking over the file.
        case inProgress
        /// The last attempt to store a chunk or the file failed temporarily.
        case failed(FileProblem)
        /// The file was verified; the core makes the durable copy.
        case verified
    }

    /// - Parameter unchecked: The chunks that an earlier mount received.
    init(layout: ChunkLayout, contentSize: UInt64, isReceivedByCore: Bool, unchecked: [Int] = []) {
        self.layout = layout
        self.contentSize = contentSize
        self.isReceivedByCore = isReceivedByCore
        states = Array(repeating: .missing, count: layout.count)
        for chunk in unchecked {
            states[chunk] = .unchecked
            bytesHere += layout.size(of: chunk)
        }
    }

    var isComplete: Bool { availableBytes == layout.streamSize }
    var progress: Int { Int(Double(bytesHere) / Double(layout.streamSize) * 100) }

    /// True if all chunks are available and no storage work is left.
    var isSettled: Bool {
        switch completion {
        case .open, .inProgress: isComplete && finalProblem != nil
        case .failed, .verified: isComplete
        }
    }

    var completionProblem: FileProblem? {
        if case .failed(let problem) = completion { problem } else { nil }
    }

    /// The current problem: permanent, of storing, or of the last failed fetch.
    var problem: FileProblem? {
        finalProblem ?? completionProblem
            ?? failures.values.max { $0.answeredUntil < $1.answeredUntil }?.problem
    }

    // MARK: - For readers

    /// The chunks needed for a range of the content. Before the header is known, the first chunk and all
    /// chunks that could hold the range.
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

    /// The stream position of a range of the content, if the whole range is available.
    func position(of range: Range<UInt64>) -> UInt64? {
        guard let contentOffset else { return nil }
        let start = contentOffset + range.lowerBound
        let chunks = layout.chunks(start..<contentOffset + range.upperBound)
        return chunks.allSatisfy { states[$0].isAvailable } ? start : nil
    }

    /// The chunk at a content position, or the number of chunks beyond the end. Returns -1 before the header
    /// is known.
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

    /// Returns true if bytes of this chunk advance the goal: it is a needed chunk, or no needed chunk is in
    /// flight yet and running fetches come first.
    func isProgress(_ chunk: Int, for goal: WaitingReaders.Goal) -> Bool {
        guard case .bytes(let range) = goal else { return true }
        let needed = needed(for: range)
        return needed.contains(chunk) || !needed.contains { states[$0] == .inFlight }
    }

    /// The problem that a reader of this range gets at once.
    func problem(for range: Range<UInt64>, now: Duration) -> FileProblem? {
        if isLost(range) { return finalProblem }
        for chunk in needed(for: range) where !states[chunk].isAvailable {
            if let failure = failures[chunk], failure.answeredUntil > now { return failure.problem }
        }
        return nil
    }

    /// Returns true if the goal cannot be reached because of the permanent problem.
    func isHopeless(_ goal: WaitingReaders.Goal) -> Bool {
        switch goal {
        case .bytes(let range): isLost(range)
        case .whole: finalProblem != nil
        }
    }

    private func isLost(_ range: Range<UInt64>) -> Bool {
        guard finalProblem != nil else { return false }
        // The first chunk tells the position of the others.
        let needed = contentOffset == nil ? [0] : needed(for: range)
        return needed.contains { !states[$0].isHere }
    }

    // MARK: - Chunks to check or fetch, in order, at most `limit`

    /// Chunks of an earlier mount for a waiting reader.
    func unchecked(for range: Range<UInt64>, limit: Int) -> [Int] {
        Array(needed(for: range).lazy.filter { states[$0] == .unchecked }.prefix(limit))
    }

    /// Chunks of an earlier mount for the complete file.
    func allUnchecked(limit: Int) -> [Int] {
        Array(states.indices.lazy.filter { states[$0] == .unchecked }.prefix(limit))
    }

    /// Chunks for a waiting reader.
    func demanded(for range: Range<UInt64>, limit: Int) -> [Int] {
        guard finalProblem == nil else { return [] }
        return Array(needed(for: range).lazy.filter { states[$0] == .missing }.prefix(limit))
    }

    /// Chunks ahead of readers. When the content is available, also chunks that only the complete file needs.
    func ahead(of windows: [ReadAhead.Window], limit: Int, now: Duration) -> [Int] {
        guard finalProblem == nil, let contentOffset else { return [] }
        let chunks = covered(by: windows, limit: limit) { isFetchable($0, now: now) }
        if !chunks.isEmpty { return chunks }
        let content = layout.chunks(contentOffset..<contentOffset + max(contentSize, 1))
        guard content.allSatisfy({ states[$0].isAvailable }) else { return [] }
        return Array(
            states.indices.lazy.filter { !content.contains($0) && isFetchable($0, now: now) }.prefix(limit))
    }

    /// Chunks of an earlier mount ahead of readers.
    func unchecked(ahead windows: [ReadAhead.Window], limit: Int) -> [Int] {
        covered(by: windows, limit: limit) { states[$0] == .unchecked }
    }

    private func covered(
        by windows: [ReadAhead.Window], limit: Int, where isWanted: (Int) -> Bool
    ) -> [Int] {
        guard let contentOffset else { return [] }
        var chunks: [Int] = []
        for window in windows where window.chunks > 0 && window.position < contentSize {
            let first = layout.chunk(at: contentOffset + window.position)
            for chunk in first...min(first + window.chunks, layout.count - 1)
            where chunks.count < limit && isWanted(chunk) && !chunks.contains(chunk) {
                chunks.append(chunk)
            }
        }
        return chunks
    }

    /// Chunks for the complete file: the first one, which holds the header, then the others.
    func remaining(limit: Int, now: Duration) -> [Int] {
        guard finalProblem == nil, completionProblem == nil, !isReceivedByCore else { return [] }
        if contentOffset == nil { return isFetchable(0, now: now) ? [0] : [] }
        return Array(states.indices.lazy.filter { isFetchable($0, now: now) }.prefix(limit))
    }

    /// Chunks whose fetch failed and is due for a retry.
    func failedBefore(limit: Int, now: Duration) -> [Int] {
        guard finalProblem == nil, !failures.isEmpty else { return [] }
        return Array(failures.keys.sorted().lazy.filter { isFetchable($0, now: now) }.prefix(limit))
    }

    /// Time of the next retry; nil if no failed chunk is missing.
    var nextRetry: Duration? {
        guard finalProblem == nil else { return nil }
        return failures.lazy.filter { self.states[$0.key] == .missing }.map(\.value.retryAt).min()
    }

    private func isFetchable(_ chunk: Int, now: Duration) -> Bool {
        states[chunk] == .missing && (failures[chunk]?.retryAt ?? .zero) <= now
    }

    // MARK: - Events

    /// missing → in flight, or unchecked → in check. Returns false if the chunk is neither missing nor unchecked, or
    /// cannot arrive.
    mutating func started(_ chunk: Int) -> Bool {
        switch states[chunk] {
        case .unchecked: states[chunk] = .inCheck
        case .missing where finalProblem == nil: states[chunk] = .inFlight
        default: return false
        }
        return true
    }

    /// in flight or in check → available.
    /// - Parameter contentOffset: For the first chunk, the content's position from the header.
    mutating func arrived(_ chunk: Int, contentOffset: UInt64?) {
        switch states[chunk] {
        case .inFlight: bytesHere += layout.size(of: chunk)
        case .inCheck: break
        default: return assertionFailure("chunk \(chunk) arrived while \(states[chunk])")
        }
        states[chunk] = .available
        availableBytes += layout.size(of: chunk)
        failures[chunk] = nil
        if let contentOffset { self.contentOffset = contentOffset }
    }

    /// in check → missing: the chunk of the earlier mount is damaged.
    mutating func checkFailed(_ chunk: Int) {
        guard states[chunk] == .inCheck else { return }
        states[chunk] = .missing
        bytesHere -= layout.size(of: chunk)
    }

    /// in flight or in check → missing.
    mutating func failed(
        _ chunk: Int, _ problem: FileProblem, now: Duration, settings: HydrationSettings
    ) {
        guard states[chunk] == .inFlight || states[chunk] == .inCheck else { return }
        checkFailed(chunk)
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

    /// available or stored → missing: it was damaged or evicted.
    mutating func lost(_ chunk: Int) {
        guard states[chunk].isAvailable else { return }
        states[chunk] = .missing
        availableBytes -= layout.size(of: chunk)
        bytesHere -= layout.size(of: chunk)
    }

    /// Records a reader's timeout, so that the next readers of these chunks fail at once.
    mutating func timedOut(_ range: Range<UInt64>, now: Duration, settings: HydrationSettings) {
        for chunk in needed(for: range) where !states[chunk].isAvailable {
            failures[chunk] = Failure(
                problem: .timedOut, answeredUntil: now + settings.failureMemory,
                retryAt: failures[chunk]?.retryAt ?? .zero, count: failures[chunk]?.count ?? 0)
        }
    }

    /// Ends all fetches with a permanent problem. The first problem stays.
    mutating func end(_ problem: FileProblem) { finalProblem = finalProblem ?? problem }

    // MARK: - Storage

    /// True if chunks are in memory only.
    var hasUnstored: Bool { states.contains(.available) }

    /// available → stored. Returns true if the complete file can now be handed over.
    mutating func stored(_ chunk: Int) -> Bool {
        if states[chunk] == .available { states[chunk] = .stored }
        return completeWhenStored()
    }

    /// open → in progress, if every chunk is stored.
    private mutating func completeWhenStored() -> Bool {
        guard completion == .open, finalProblem == nil, states.allSatisfy({ $0 == .stored }) else {
            return false
        }
        completion = .inProgress
        return true
    }

    /// in progress → open: the final check found damage.
    mutating func completionInterrupted() {
        if completion == .inProgress { completion = .open }
    }

    /// open or in progress → failed.
    mutating func completionFailed(_ problem: FileProblem) { completion = .failed(problem) }

    /// failed → open. Returns true if the complete file can now be handed over.
    mutating func retryCompletion() -> Bool {
        guard completionProblem != nil, finalProblem == nil else { return false }
        completion = .open
        return completeWhenStored()
    }

    /// in progress → verified.
    mutating func verified() {
        guard completion == .inProgress else {
            return assertionFailure("verified while \(completion)")
        }
        completion = .verified
    }
}
