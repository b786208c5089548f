import ChatCore

/// The source of a file's bytes. Changes only along `PhaseName.successors`.
enum FilePhase<Download: AnyObject & Sendable, Whole: AnyObject & Sendable>: Sendable {
    /// The source is unknown and not requested.
    case idle
    /// The source is being determined.
    case preparing(Preparation)
    /// The core downloads the file, or the sender is still uploading. Events follow.
    case awaitingCore
    /// Chunks are downloaded.
    case chunks(Download, ChunkMap)
    /// A verified complete copy, with this many bytes in the cache.
    case whole(Whole, cached: UInt64)
    /// Failed permanently, for this mount.
    case failed(FileProblem)
    /// Removed from the registry. Callers that still hold the object get a new one there.
    case retired

    enum Content: Sendable {
        case chunks(Download)
        case whole(Whole)
    }

    var name: PhaseName {
        switch self {
        case .idle: .idle
        case .preparing: .preparing
        case .awaitingCore: .awaitingCore
        case .chunks: .chunks
        case .whole: .whole
        case .failed: .failed
        case .retired: .retired
        }
    }

    /// The content that the phase owns.
    var content: Content? {
        switch self {
        case .chunks(let download, _): .chunks(download)
        case .whole(let whole, _): .whole(whole)
        case .idle, .preparing, .awaitingCore, .failed, .retired: nil
        }
    }

    /// Bytes on this machine besides the core's copy.
    var cachedBytes: UInt64 {
        switch self {
        case .chunks(_, let chunks): chunks.bytesHere
        case .whole(_, let cached): cached
        case .idle, .preparing, .awaitingCore, .failed, .retired: 0
        }
    }

    /// The state shown to users.
    /// - Parameters:
    ///   - problem: Last problem of an idle file.
    ///   - demand: Current demand.
    ///   - isStored: True if the core has its copy.
    ///   - isFetched: Returns true if chunks are being fetched.
    func condition(
        idle problem: FileProblem?, now: Duration, _ demand: FileDemand, isStored: Bool,
        isFetched: (ChunkMap) -> Bool
    ) -> HydrationCondition {
        switch self {
        case .retired: return HydrationCondition()
        case .idle: return HydrationCondition(problem: problem)
        case .preparing: return HydrationCondition(stage: .receiving)
        // The core's status reports its own download.
        case .awaitingCore:
            return HydrationCondition(stage: demand.isWanted ? .receiving : .idle, problem: problem)
        case .whole(_, let cached):
            return HydrationCondition(stage: .complete, progress: 100, cached: cached, isStored: isStored)
        case .failed(let problem): return HydrationCondition(problem: problem)
        case .chunks(_, let chunks):
            let nextTry = demand.awaitsRetry(of: chunks) ? chunks.nextRetry : nil
            let stage: HydrationCondition.Stage =
                chunks.isSettled ? .complete : chunks.isComplete || isFetched(chunks) ? .receiving : .idle
            return HydrationCondition(
                stage: stage, progress: chunks.progress,
                problem: chunks.problem, nextTry: nextTry.map { max($0 - now, .zero) },
                cached: chunks.bytesHere)
        }
    }

    /// The only way to change the phase.
    mutating func move(to next: Self) {
        assert(name.precedes(next.name), "a file went from \(name) to \(next.name)")
        self = next
    }

    func isPresent(_ preparation: Preparation) -> Bool {
        if case .preparing(let present) = self { present === preparation } else { false }
    }

    func isPresent(_ download: Download) -> Bool {
        if case .chunks(let present, _) = self { present === download } else { false }
    }

    /// Returns nil if the download is outdated.
    func chunks(of download: Download) -> ChunkMap? {
        guard case .chunks(let present, let chunks) = self, present === download else { return nil }
        return chunks
    }

    /// Returns nil if the download is outdated.
    @discardableResult
    mutating func withChunks<Result>(
        of download: Download, _ body: (inout ChunkMap) -> Result
    ) -> Result? {
        guard var chunks = chunks(of: download) else { return nil }
        // Leaves one owner, so that the mutation does not copy.
        self = .idle
        defer { self = .chunks(download, chunks) }
        return body(&chunks)
    }
}

/// Phases without associated values, and their transitions.
enum PhaseName: CaseIterable, Hashable, Sendable {
    case idle, preparing, awaitingCore, chunks, whole, failed, retired

    func precedes(_ next: PhaseName) -> Bool { Self.successors[self]?.contains(next) == true }

    /// Every phase may become failed (by removal at once) or retired. The others:
    /// - idle → preparing: a read or retention.
    /// - preparing → idle: a temporary failure; → preparing: the file is offered again, or the awaited event
    ///   has already come.
    /// - preparing → chunks, whole, awaitingCore: by the core's answer.
    /// - awaitingCore → preparing: the core has or offers the file; → idle: it gave up temporarily.
    /// - chunks → whole: all are stored; → preparing: the core finished first or gave up its copy; →
    ///   awaitingCore: only the core may fetch; → idle: the user cancelled.
    /// - whole → idle: the stored copy changed.
    /// - failed → idle: the core reports a new status.
    static let successors: [PhaseName: Set<PhaseName>] = [
        .idle: [.preparing, .failed, .retired],
        .preparing: [.preparing, .awaitingCore, .chunks, .whole, .idle, .failed, .retired],
        .awaitingCore: [.preparing, .idle, .failed, .retired],
        .chunks: [.idle, .preparing, .awaitingCore, .whole, .failed, .retired],
        .whole: [.idle, .failed, .retired],
        .failed: [.idle, .failed, .retired],
        .retired: [],
    ]
}

/// One attempt to find the source of a file. Results of other attempts are told apart by object identity.
final class Preparation: Sendable {}
