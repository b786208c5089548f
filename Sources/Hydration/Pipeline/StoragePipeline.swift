import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import XFTP

/// Verifies a file and writes its CryptoFile from start to end, while chunks arrive in any order. The
/// frontier is the next chunk to write. A chunk that arrives at or shortly before the frontier is taken from
/// memory; earlier ones are read back from the cache. Stored chunks are read from the written file.
///
/// Callable from any task. One thread of a small pool works on a pipeline at a time.
final class StoragePipeline: Sendable {
    enum Progress: Sendable {
        /// Number of chunks, from the first on, that were stored.
        case stored(Int)
        /// The cache could not read this chunk back.
        case unreadable(Int)
        /// This chunk was written to the CryptoFile again.
        case repaired(Int)
        /// Failed and paused until `resume`.
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
        /// Chunks that the worker has started.
        var steps = 0
        var isBusy = false
        var isStopped = false
        /// Failed; waits for `resume`.
        var isPaused = false
        /// Set if work arrives while the worker is busy.
        var hasMore = false
        var waiting: [Int: Waiting] = [:]
        /// Stored chunks that the CryptoFile lost.
        var damaged: Set<Int> = []
        /// Number of losses since the last failure.
        var damages = 0
        /// If true, nothing is written.
        var isFinishing = false
        var lastID: UInt64 = 0

        mutating func takeAllWaiting() -> [Waiting] {
            defer { waiting = [:] }
            return Array(waiting.values)
        }

        /// Returns true if the caller must start the worker.
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

    /// Chunks before the frontier that wait in memory. Their fetches last until then, so a download cannot
    /// run far ahead of storage. Caching a chunk and reading it back would cost as much as storing it.
    private static let reach = HydrationSettings.chunksBeforeCheck
    /// A small pool of its own, so that storage never delays readers.
    private static let threads = ThreadPool(name: "storing", threads: StorageWork.threadCount)

    /// True if stored chunks are read from the CryptoFile only.
    let servesReaders: Bool
    let stream: CachedStream
    private let work: StorageWork
    private let idleTimeout: Duration
    private let report: @Sendable (StoragePipeline, Progress) -> Void
    private let state = Lock(State())

    /// - Parameters:
    ///   - form: Form and folder of the written file.
    ///   - servesReaders: If true, `stream` reads stored chunks from the CryptoFile.
    ///   - idleTimeout: Maximum time that a chunk waits in memory for an idle worker.
    ///   - report: Called on the worker's thread with this object.
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

    /// Offers an arrived chunk that the stream holds. Returns when its memory may be reused; true if it was
    /// stored.
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

    /// Returns true if a chunk should keep waiting: it is the next one, or the worker makes progress.
    /// Releases it otherwise.
    private func waits(_ chunk: Int, _ id: UInt64, since steps: inout Int) -> Bool {
        let (waits, released): (Bool, Waiting?) = state.withLock { state in
            guard state.waiting[chunk]?.id == id else { return (false, nil) }
            // Without a disk the chunk can only stay in memory.
            let isNext = state.next == chunk || state.damaged.contains(chunk) || !stream.hasDisk
            let goesOn = state.isBusy && isNext || state.steps != steps
            steps = state.steps
            return goesOn ? (true, nil) : (false, state.waiting.removeValue(forKey: chunk))
        }
        released?.continuation.resume(returning: false)
        return waits
    }

    /// Stores chunks that the stream holds.
    func proceed() {
        if state.withLock({ $0.claimWork() }) { Self.threads.submit { self.advance() } }
    }

    /// Retries after a failure. Stored chunks stay.
    func resume() {
        let next = state.withLock { state in
            state.isPaused = false
            state.damages = 0
            return state.next
        }
        report(self, .stored(next))
        proceed()
    }

    /// Stops the work. The unfinished file goes with this object.
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
                // Reported first, or a chunk kept elsewhere would count for a retry.
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

    /// Verifies the stored file, makes it durable under `path` and reads it back. Call it after all chunks
    /// are stored; may be repeated after a failure. Returns nil if no file is written.
    /// - Throws: `DamagedChunks` for chunks that the disk lost.
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

    // MARK: - Lost chunks

    /// Maximum number of losses of one file.
    private static let maxDamages = 8

    /// Records stored chunks that the disk lost; they are rewritten on their next arrival.
    /// - Throws: `cache` after too many losses.
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
