import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import XFTP

/// Checks a file as a whole and writes it to a CryptoFile, from front to end while its chunks arrive in any order: a frontier that moves on whenever the next chunk is available. A chunk that
/// arrives at the frontier, or a little before it, is taken from memory; one that came earlier is read back from
/// the cache. What lies behind the frontier is served from the file that is written. After the last chunk only
/// the tag and the disk's own work are left.
///
/// Any task. One thread of a small pool does the work, one piece of it at a time.
final class StoragePipeline: Sendable {
    enum Progress: Sendable {
        /// So many chunks, from the first on, have gone through.
        case stored(Int)
        /// The cache did not give this chunk back.
        case unreadable(Int)
        /// This chunk is in the CryptoFile again.
        case repaired(Int)
        /// It is paused until `resume`.
        case failed(any Error)
    }

    private struct Waiting {
        var id: UInt64
        var fetched: any FetchedChunk
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        /// The chunk at the frontier.
        var next = 0
        /// Chunks that the worker has begun with.
        var steps = 0
        var isBusy = false
        var isStopped = false
        /// It has failed, and waits for `resume`.
        var isPaused = false
        /// Something came while the worker was busy.
        var hasMore = false
        var waiting: [Int: Waiting] = [:]
        /// Chunks behind the frontier that are not in the CryptoFile any more.
        var damaged: Set<Int> = []
        /// How often since the last failure.
        var damages = 0
        /// Nothing is written meanwhile.
        var isFinishing = false
        var lastID: UInt64 = 0

        mutating func takeAllWaiting() -> [Waiting] {
            defer { waiting = [:] }
            return Array(waiting.values)
        }

        /// True for the caller that has to start the worker.
        mutating func claimWork() -> Bool {
            hasMore = true
            guard !isBusy, !isStopped, !isPaused else { return false }
            isBusy = true
            return true
        }
    }

    private enum Step {
        case memory(Int, any FetchedChunk)
        case cache(Int)
        case repair(Int, any FetchedChunk)
        case repairFromCache(Int)
        case idle
    }

    /// So many chunks in front of the frontier stay in memory until it comes: their fetches are not over
    /// before, so that a download is never faster than its check for long. Sealing one into the cache and
    /// reading it back costs as much as storing it.
    private static let reach = HydrationSettings.chunksBeforeCheck
    /// Of their own, few: who reads must not wait for what is only kept.
    private static let threads = ThreadPool(name: "storing", threads: StorageWork.threadCount)

    /// What is stored lies in the CryptoFile and nowhere else.
    let servesReaders: Bool
    let stream: CachedStream
    private let work: StorageWork
    private let idleTimeout: Duration
    private let report: @Sendable (StoragePipeline, Progress) -> Void
    private let state = Lock(State())

    /// - Parameters:
    ///   - form: what is written of it, and where.
    ///   - idleTimeout: the longest that a chunk waits in memory while the worker does nothing.
    ///   - servesReaders: whether `stream` finds what is stored in the CryptoFile.
    ///   - report: called on the thread that works, with this object.
    init(
        _ stream: CachedStream, source: any ChunkSource, contentSize: UInt64, form: StorageWork.Form,
        servesReaders: Bool, idleTimeout: Duration,
        report: @escaping @Sendable (StoragePipeline, Progress) -> Void
    ) {
        self.stream = stream
        self.report = report
        self.idleTimeout = idleTimeout
        self.servesReaders = servesReaders && form.writes
        work = StorageWork(source: source, layout: stream.layout, contentSize: contentSize, form: form)
    }

    /// A chunk has arrived, and the stream holds it. Returns when its memory is not needed any more: true
    /// when it is stored.
    func take(_ chunk: Int, _ fetched: any FetchedChunk) async -> Bool {
        await withCheckedContinuation { continuation in
            let (id, steps, isClaimed) = state.withLock { state -> (UInt64?, Int, Bool) in
                let isNear = state.next...state.next + Self.reach ~= chunk
                guard isNear || state.damaged.contains(chunk), !state.isStopped, !state.isPaused,
                    state.waiting[chunk] == nil
                else {
                    return (nil, 0, false)
                }
                state.lastID += 1
                state.waiting[chunk] = Waiting(
                    id: state.lastID, fetched: fetched, continuation: continuation)
                return (state.lastID, state.steps, state.claimWork())
            }
            guard let id else { return continuation.resume(returning: false) }
            if isClaimed { Self.threads.submit { self.advance() } }
            Task { [weak self, idleTimeout] in
                var steps = steps
                repeat {
                    try? await Task.sleep(for: idleTimeout)
                } while self?.waits(chunk, id, since: &steps) ?? false
            }
        }
    }

    /// Whether a chunk still waits with reason: it is the next, or the work goes on. One that does not is released.
    private func waits(_ chunk: Int, _ id: UInt64, since steps: inout Int) -> Bool {
        let (waits, released): (Bool, Waiting?) = state.withLock { state in
            guard state.waiting[chunk]?.id == id else { return (false, nil) }
            // Without a disk there is no other place for it than memory.
            let isNext = state.next == chunk || state.damaged.contains(chunk) || !stream.hasDisk
            let goesOn = state.isBusy && isNext || state.steps != steps
            steps = state.steps
            return goesOn ? (true, nil) : (false, state.waiting.removeValue(forKey: chunk))
        }
        released?.continuation.resume(returning: false)
        return waits
    }

    /// Moves on over what the stream holds.
    func proceed() {
        if state.withLock({ $0.claimWork() }) { Self.threads.submit { self.advance() } }
    }

    /// Tries again after a failure: what had been taken before it stays.
    func resume() {
        let next = state.withLock { state in
            state.isPaused = false
            state.damages = 0
            return state.next
        }
        report(self, .stored(next))
        proceed()
    }

    /// Nothing is wanted any more. What has been written disappears with this object.
    func stop() {
        let waiting = state.withLock { state in
            state.isStopped = true
            return state.takeAllWaiting()
        }
        for one in waiting { one.continuation.resume(returning: false) }
    }

    // MARK: - The worker

    private func advance() {
        while true {
            let step = nextStep()
            do {
                switch step {
                case .idle: return
                case .memory(let chunk, let fetched):
                    try work.store(chunk, fetched)
                    stored(chunk)
                case .repair(let chunk, let fetched):
                    try work.repair(chunk, fetched)
                    repaired(chunk)
                case .repairFromCache(let chunk):
                    if try work.repair(chunk, from: stream) {
                        repaired(chunk)
                    } else {
                        stream.forget(chunk)
                        report(self, .unreadable(chunk))
                    }
                case .cache(let chunk):
                    if try work.store(chunk, from: stream) {
                        stored(chunk)
                    } else {
                        stream.forget(chunk)
                        report(self, .unreadable(chunk))
                    }
                }
            } catch {
                let waiting = state.withLock { state in
                    state.isPaused = true
                    state.isBusy = false
                    return state.takeAllWaiting()
                }
                // Reported first: a chunk that is kept elsewhere now must not be taken for one more try.
                report(self, .failed(error))
                for one in waiting { one.continuation.resume(returning: false) }
                return
            }
        }
    }

    private func nextStep() -> Step {
        while true {
            let (next, damaged) = state.withLock { state in
                state.hasMore = false
                return (state.next, state.damaged)
            }
            let isCached = next < stream.layout.count && stream.keeps(next)
            let repairable = damaged.first(where: stream.keeps)
            let step = state.withLock { state -> Step? in
                if !state.isStopped && !state.isFinishing {
                    if let (chunk, waiting) = state.waiting.first(where: { state.damaged.contains($0.key) }) {
                        return .repair(chunk, waiting.fetched)
                    }
                    if let repairable { return .repairFromCache(repairable) }
                    if isCached || state.waiting[next] != nil { state.steps += 1 }
                    if let waiting = state.waiting[next] { return .memory(next, waiting.fetched) }
                    if isCached { return .cache(next) }
                    if state.hasMore { return nil }
                }
                state.isBusy = false
                return .idle
            }
            if let step { return step }
        }
    }

    private func stored(_ chunk: Int) {
        if servesReaders, let written = work.writtenContent { stream.wrote(chunk, to: written) }
        let waiting = state.withLock { state in
            state.next = chunk + 1
            return state.waiting.removeValue(forKey: chunk)
        }
        waiting?.continuation.resume(returning: true)
        report(self, .stored(chunk + 1))
    }

    /// After all chunks are stored: compares the whole with its description, makes the file durable under
    /// `path` and reads it back; nil when none was written. `DamagedChunks` when the disk has not kept it. May
    /// be repeated after a failure.
    func finish(at path: String) async throws -> StoredCopy? {
        state.withLock { $0.isFinishing = true }
        defer {
            let goesOn = state.withLock { state in
                state.isFinishing = false
                return !state.damaged.isEmpty
            }
            if goesOn { proceed() }
        }
        return try await Self.threads.run { () throws(any Error) in try self.work.finish(at: path) }
    }

    // MARK: - What the disk has not kept

    /// So many times the disk may lose something of one file.
    private static let maxDamages = 8

    /// The disk did not keep these chunks, which were stored: their next arrival is written in their place.
    /// Throws when that has happened too often.
    func lost(_ chunks: [Int]) throws(HydrationError) {
        let isHopeless = state.withLock { state in
            state.damages += 1
            state.damaged.formUnion(chunks.filter { $0 < state.next })
            return state.damages > Self.maxDamages
        }
        if isHopeless { throw .diskDoesNotKeep }
    }

    private func repaired(_ chunk: Int) {
        if servesReaders, let written = work.writtenContent { stream.wrote(chunk, to: written) }
        let waiting = state.withLock { state in
            state.damaged.remove(chunk)
            return state.waiting.removeValue(forKey: chunk)
        }
        waiting?.continuation.resume(returning: true)
        report(self, .repaired(chunk))
    }
}
