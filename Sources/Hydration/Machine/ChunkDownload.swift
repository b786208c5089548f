import ChatCore

/// What is known of one file's chunks: which are here, which are on their way, which failed. A value
/// without I/O; positions of the content are those that readers know, positions of the stream those of
/// the chunks.
struct ChunkDownload: Sendable {
    enum State: Hashable, Sendable {
        case missing
        case inFlight
        case present
    }

    struct Failure: Hashable, Sendable {
        var problem: FileProblem
        /// Readers get this answer until then.
        var answeredUntil: Duration
        /// Nothing is fetched ahead before.
        var pausedUntil: Duration
        var count: Int
    }

    /// Length of the header in front of the content: from the shortest name to the longest, with the
    /// 8 bytes of the length (simplexmq `FileHeader`).
    private static let shortestHeader: UInt64 = 10
    private static let longestHeader: UInt64 = 521

    let layout: ChunkLayout
    /// Length of the content, as the message says.
    let contentSize: UInt64
    private(set) var states: [State]
    private(set) var inFlight = 0
    private(set) var presentBytes: UInt64 = 0
    /// Where the content begins in the stream: known with the first chunk.
    private(set) var contentOffset: UInt64?
    private(set) var failures: [Int: Failure] = [:]
    /// Missing chunks will never come.
    var dead: FileProblem?
    /// So many chunks, from the first on, have gone through the check of the whole.
    private(set) var passed = 0
    /// Of these, chunks that the disk has not kept: they come once more.
    private(set) var damaged: Set<Int> = []
    /// All have, and the whole is being handed over.
    var isCompleting = false
    /// The whole has been checked; its durable copy is the core's affair.
    var isChecked = false
    /// Why the last attempt to store the whole did not work.
    var completionProblem: FileProblem?

    /// The core fetches its durable copy itself.
    let isReceivedByCore: Bool

    init(layout: ChunkLayout, contentSize: UInt64, isReceivedByCore: Bool = false) {
        self.layout = layout
        self.isReceivedByCore = isReceivedByCore
        self.contentSize = contentSize
        states = Array(repeating: .missing, count: layout.count)
    }

    var isComplete: Bool { presentBytes == layout.streamSize }
    var progress: Int { Int(Double(presentBytes) / Double(layout.streamSize) * 100) }

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

    /// Where a range of the content begins in the stream, when all of it is here.
    func place(of range: Range<UInt64>) -> UInt64? {
        guard let contentOffset else { return nil }
        let start = contentOffset + range.lowerBound
        for chunk in layout.chunks(start..<contentOffset + range.upperBound) where states[chunk] != .present {
            return nil
        }
        return start
    }

    func satisfies(_ goal: HydrationMachine.Goal) -> Bool {
        switch goal {
        case .bytes(let range): place(of: range) != nil
        case .whole: isChecked && isComplete
        }
    }

    /// Whether bytes of a chunk bring somebody nearer to a goal: they are of what it needs, or nothing of that
    /// has been begun, and what is under way has to come before it.
    func isProgress(_ chunk: Int, for goal: HydrationMachine.Goal) -> Bool {
        guard case .bytes(let range) = goal else { return true }
        let needed = needed(for: range)
        return needed.contains(chunk) || !needed.contains { states[$0] == .inFlight }
    }

    /// The problem that a reader of this range gets at once, if any.
    func problem(for range: Range<UInt64>, now: Duration) -> FileProblem? {
        for chunk in needed(for: range) where states[chunk] != .present {
            if let dead { return dead }
            if let failure = failures[chunk], failure.answeredUntil > now { return failure.problem }
        }
        return nil
    }

    /// What to fetch for a reader of this range.
    func missing(for range: Range<UInt64>) -> Int? {
        dead == nil ? needed(for: range).first { states[$0] == .missing } : nil
    }

    /// What to fetch ahead of readers, and at last what holds no content but belongs to the whole.
    func ahead(_ windows: [(position: UInt64, chunks: Int)], now: Duration) -> Int? {
        guard dead == nil, let contentOffset else { return nil }
        for window in windows where window.chunks > 0 && window.position < contentSize {
            let first = layout.chunk(at: contentOffset + window.position)
            let last = min(first + window.chunks, layout.count - 1)
            if let chunk = (first...last).first(where: { isFetchable($0, now: now) }) { return chunk }
        }
        let content = layout.chunks(contentOffset..<contentOffset + max(contentSize, 1))
        if content.allSatisfy({ states[$0] == .present }) {
            return states.indices.first {
                !content.contains($0) && isOutstanding($0) && isFetchable($0, now: now)
            }
        }
        return nil
    }

    /// What to fetch for the whole: the first one, which says where the content begins; then the first that
    /// is missing behind those that have been checked, and those without content.
    func rest(now: Duration) -> Int? {
        guard dead == nil, completionProblem == nil, !isReceivedByCore else { return nil }
        if contentOffset == nil { return isFetchable(0, now: now) ? 0 : nil }
        return states.indices.first { isOutstanding($0) && isFetchable($0, now: now) }
    }

    /// The whole cannot be without its coming, even when nobody reads it.
    private func isOutstanding(_ chunk: Int) -> Bool { chunk >= passed || damaged.contains(chunk) }

    /// All have gone through the check and are where it put them.
    var isPassed: Bool { passed == layout.count && damaged.isEmpty }

    /// Fetched for a reader in vain, and to be tried again.
    func failedBefore(now: Duration) -> Int? {
        dead == nil ? failures.keys.sorted().first { isFetchable($0, now: now) } : nil
    }

    /// When the next chunk that failed may be tried again; nil when none is missing for that.
    var nextTry: Duration? {
        guard dead == nil else { return nil }
        return failures.lazy.filter { self.states[$0.key] == .missing }.map(\.value.pausedUntil).min()
    }

    private func isFetchable(_ chunk: Int, now: Duration) -> Bool {
        states[chunk] == .missing && (failures[chunk]?.pausedUntil ?? .zero) <= now
    }

    mutating func passed(upTo count: Int) { passed = max(passed, min(count, layout.count)) }

    /// The check of the whole goes on where it failed.
    mutating func passAgain() {
        isCompleting = false
        completionProblem = nil
    }

    mutating func started(_ chunk: Int) {
        states[chunk] = .inFlight
        inFlight += 1
    }

    /// - Parameter contentOffset: with the first chunk, where the header says that the content begins.
    mutating func arrived(_ chunk: Int, contentOffset: UInt64?) {
        guard states[chunk] == .inFlight else { return }
        inFlight -= 1
        states[chunk] = .present
        presentBytes += layout.size(of: chunk)
        failures[chunk] = nil
        if let contentOffset { self.contentOffset = contentOffset }
    }

    mutating func failed(
        _ chunk: Int, _ problem: FileProblem, now: Duration, settings: HydrationSettings
    ) {
        switch states[chunk] {
        case .inFlight: inFlight -= 1
        // It came, but could not be kept.
        case .present: presentBytes -= layout.size(of: chunk)
        case .missing: return
        }
        states[chunk] = .missing
        let count = (failures[chunk]?.count ?? 0) + 1
        failures[chunk] = Failure(
            problem: problem, answeredUntil: now + settings.failureMemory,
            pausedUntil: now + settings.pause(afterFailures: count), count: count)
        if problem.isFinal { dead = problem }
    }

    mutating func cancelled(_ chunk: Int) {
        guard states[chunk] == .inFlight else { return }
        inFlight -= 1
        states[chunk] = .missing
    }

    /// A reader ran into its deadline: the next ones for the same chunks do not wait as long.
    mutating func timedOut(_ range: Range<UInt64>, now: Duration, settings: HydrationSettings) {
        for chunk in needed(for: range) where states[chunk] != .present {
            failures[chunk] = Failure(
                problem: .timedOut, answeredUntil: now + settings.failureMemory,
                pausedUntil: failures[chunk]?.pausedUntil ?? .zero, count: failures[chunk]?.count ?? 0)
        }
    }

    /// A chunk that had passed is not where it was put.
    mutating func noteDamage(_ chunk: Int) {
        lost(chunk)
        if chunk < passed { damaged.insert(chunk) }
    }

    /// It was put there once more.
    mutating func mended(_ chunk: Int) { damaged.remove(chunk) }

    /// A chunk's blocks turned out to be unreadable.
    mutating func lost(_ chunk: Int) {
        guard states[chunk] == .present else { return }
        states[chunk] = .missing
        presentBytes -= layout.size(of: chunk)
    }
}
