import ChatCore

/// Where the bytes of one file are to be had, with what that takes. Changes only along `PhaseName.successors`.
enum FilePhase<Download: AnyObject & Sendable, Whole: AnyObject & Sendable>: Sendable {
    /// Nothing is known, or asked for.
    case idle
    /// It is being found out where the bytes are.
    case preparing(Preparation)
    /// The core receives it, or the sender is still uploading: events will tell.
    case awaitingCore
    /// It comes chunk by chunk.
    case chunks(Download, ChunkMap)
    /// A verified copy of the whole, with so many bytes of it decrypted in the cache.
    case whole(Whole, cached: UInt64)
    /// For good, as far as this mount is concerned.
    case failed(FileProblem)
    /// The registry has forgotten the object; whoever finds it looks for the next one.
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

    /// What is held on to.
    var content: Content? {
        switch self {
        case .chunks(let download, _): .chunks(download)
        case .whole(let whole, _): .whole(whole)
        case .idle, .preparing, .awaitingCore, .failed, .retired: nil
        }
    }

    /// Decrypted bytes in the cache.
    var cachedBytes: UInt64 {
        switch self {
        case .chunks(_, let chunks): chunks.availableBytes
        case .whole(_, let cached): cached
        case .idle, .preparing, .awaitingCore, .failed, .retired: 0
        }
    }

    /// What users are told.
    /// - Parameters:
    ///   - problem: what an idle file failed with last.
    ///   - demand: who wants bytes of it.
    ///   - isStored: whether the core has its copy.
    ///   - isFetched: whether chunks are worth fetching now.
    func condition(
        idle problem: FileProblem?, now: Duration, _ demand: FileDemand, isStored: Bool,
        isFetched: (ChunkMap) -> Bool
    ) -> HydrationCondition {
        switch self {
        case .retired: return HydrationCondition()
        case .idle: return HydrationCondition(problem: problem)
        case .preparing: return HydrationCondition(stage: .receiving)
        // Where the core receives it, its status says so.
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
                cached: chunks.availableBytes)
        }
    }

    /// The only way from one phase to another.
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

    /// nil when it is not the present download.
    func chunks(of download: Download) -> ChunkMap? {
        guard case .chunks(let present, let chunks) = self, present === download else { return nil }
        return chunks
    }

    /// nil when it is not the present download.
    @discardableResult
    mutating func withChunks<Result>(
        of download: Download, _ body: (inout ChunkMap) -> Result
    ) -> Result? {
        guard var chunks = chunks(of: download) else { return nil }
        // The only owner while it changes, so that nothing is copied.
        self = .idle
        defer { self = .chunks(download, chunks) }
        return body(&chunks)
    }
}

/// The phases of a file without what they carry, and which may follow which.
enum PhaseName: CaseIterable, Hashable, Sendable {
    case idle, preparing, awaitingCore, chunks, whole, failed, retired

    func precedes(_ next: PhaseName) -> Bool { Self.successors[self]?.contains(next) == true }

    /// Every phase may end as failed (by removal at once) and as retired. Besides:
    /// * idle → preparing when somebody reads, or it is retained; back when that fails for a while; preparing
    ///   anew when it is offered again, or what it would wait for has come meanwhile;
    /// * preparing → chunks, whole, or awaiting the core, as the core answers;
    /// * awaiting the core → preparing when that has it or offers it, idle when it gave up for a while;
    /// * chunks → whole when all are stored, preparing when the core was faster or gives up its own copy,
    ///   awaiting the core when only that may fetch them, idle when the user cancels it;
    /// * whole → idle when the stored copy was changed; failed → idle when the core says something new.
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

/// One attempt to find out where the bytes of a file are. Known by its identity: the answer of an earlier one
/// is not that of the present one.
final class Preparation: Sendable {}
