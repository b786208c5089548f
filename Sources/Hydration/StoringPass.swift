import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import XFTP

/// The way of a file through the check of the whole into a CryptoFile with a key of its own, from front to
/// end while its chunks arrive in any order: a frontier that moves on whenever the next chunk is here. A
/// chunk that arrives at the frontier is taken from memory, one that came earlier is read back from the
/// cache. After the last chunk only the tag and the disk's own work are left.
///
/// Any task. One at a time does the work, on a thread of the pool; the others leave it to that one.
final class StoringPass: Sendable {
    enum Progress: Sendable {
        /// So many chunks, from the first on, have gone through.
        case passed(Int)
        /// The cache did not give this chunk back.
        case unreadable(Int)
        /// The end, without a file.
        case failed(any Error)
    }

    private struct Waiting {
        var fetched: any FetchedChunk
        var continuation: CheckedContinuation<Void, Never>?
    }

    private struct State {
        /// The chunk at the frontier.
        var next = 0
        var isBusy = false
        var isOver = false
        /// Something came while somebody was busy.
        var looksAgain = false
        var waiting: [Int: Waiting] = [:]

        /// Whether the frontier comes to `chunk` soon, and over nothing that is still to be fetched.
        func isNear(_ chunk: Int, cached: Set<Int>) -> Bool {
            chunk - next <= StoringPass.reach
                && (next..<chunk).allSatisfy { $0 == next || waiting[$0] != nil || cached.contains($0) }
        }
    }

    private enum Turn {
        case work
        case wait
        case leave
    }

    private enum Step {
        case memory(Int, any FetchedChunk)
        case cache(Int)
        case rest
    }

    /// So many chunks in front of the frontier stay in memory until it comes: their fetches are not over
    /// before, so that a download is not faster than its check for long.
    private static let reach = 3
    /// Of their own, few: who reads must not wait for what is only kept.
    private static let threads = ThreadPool(name: "storing", threads: 2)

    private let stream: CachedStream
    private let work: PassWork
    private let report: @Sendable (Progress) -> Void
    private let state = Lock(State())

    /// - Parameters:
    ///   - stagingFolder: where the CryptoFile is written; nil: nothing is, the pass only checks.
    ///   - report: called on the thread that works.
    init(
        _ stream: CachedStream, source: any ChunkSource, contentSize: UInt64, stagingFolder: String?,
        report: @escaping @Sendable (Progress) -> Void
    ) {
        self.stream = stream
        self.report = report
        work = PassWork(
            source: source, layout: stream.layout, contentSize: contentSize, folder: stagingFolder)
    }

    /// A chunk has arrived and is in the cache. Returns when its memory is not needed any more.
    func take(_ chunk: Int, _ fetched: any FetchedChunk) async {
        let next = state.withLock { $0.next }
        let cached = chunk - next <= Self.reach ? Set((next..<max(next, chunk)).filter(stream.holds)) : []
        let turn = state.withLock { state -> Turn in
            guard !state.isOver, chunk >= state.next else { return .leave }
            if !state.isBusy {
                state.isBusy = true
                if chunk == state.next { state.waiting[chunk] = Waiting(fetched: fetched) }
                return .work
            }
            state.looksAgain = true
            return chunk > state.next && state.isNear(chunk, cached: cached) ? .wait : .leave
        }
        switch turn {
        case .leave: return
        case .work: await Self.threads.run { self.advance() }
        case .wait:
            await withCheckedContinuation { continuation in
                // The one who is busy may have come to rest meanwhile: then it is read back later.
                let waits = state.withLock { state in
                    guard state.isBusy, !state.isOver, chunk > state.next else { return false }
                    state.waiting[chunk] = Waiting(fetched: fetched, continuation: continuation)
                    return true
                }
                if !waits { continuation.resume() }
            }
        }
    }

    /// Moves on over what the cache holds.
    func proceed() async {
        let works = state.withLock { state in
            guard !state.isOver, !state.isBusy else {
                state.looksAgain = true
                return false
            }
            state.isBusy = true
            return true
        }
        if works { await Self.threads.run { self.advance() } }
    }

    /// Nothing is wanted any more. What has been written disappears with this object.
    func stop() { end() }

    private func end() {
        let waiting = state.withLock { state in
            state.isOver = true
            defer { state.waiting = [:] }
            return state.waiting.values.compactMap(\.continuation)
        }
        for continuation in waiting { continuation.resume() }
    }

    // MARK: - The one who is busy

    private func advance() {
        while true {
            let step = nextStep()
            do {
                switch step {
                case .rest: return
                case .memory(let chunk, let fetched):
                    try work.pass(chunk, fetched)
                    passed(chunk)
                case .cache(let chunk):
                    if try work.pass(chunk, from: stream) {
                        passed(chunk)
                    } else {
                        stream.forget(chunk)
                        report(.unreadable(chunk))
                    }
                }
            } catch {
                end()
                state.withLock { $0.isBusy = false }
                return report(.failed(error))
            }
        }
    }

    private func nextStep() -> Step {
        while true {
            let next = state.withLock { state in
                state.looksAgain = false
                return state.next
            }
            let isCached = next < stream.layout.count && stream.holds(next)
            let (step, leftOver) = state.withLock { state -> (Step?, [CheckedContinuation<Void, Never>]) in
                if !state.isOver {
                    if let waiting = state.waiting[next] { return (.memory(next, waiting.fetched), []) }
                    if isCached { return (.cache(next), []) }
                    if state.looksAgain { return (nil, []) }
                }
                state.isBusy = false
                defer { state.waiting = [:] }
                return (.rest, state.waiting.values.compactMap(\.continuation))
            }
            for continuation in leftOver { continuation.resume() }
            if let step { return step }
        }
    }

    private func passed(_ chunk: Int) {
        let waiting = state.withLock { state in
            state.next = chunk + 1
            return state.waiting.removeValue(forKey: chunk)
        }
        waiting?.continuation?.resume()
        report(.passed(chunk + 1))
    }

    /// After all chunks have passed: compares the whole with its description and makes the file durable
    /// under `path`; nil when none was written. Blocks on the disk.
    func finish(at path: String) throws -> FileArguments? { try work.finish(at: path) }
}
