import Base
import ChatCore
import Cryptography
import Glibc
import Posix

/// Completion of a download: handles reports of its storage pipeline, hands the file to the core, and
/// refetches chunks that the disk lost.
struct FileCompletion: Sendable {
    private let file: CachedFile
    private let download: Download
    private let context: HydrationContext

    init(of file: CachedFile, _ download: Download) {
        self.file = file
        self.download = download
        context = file.context
    }

    /// Handles a report of the storage pipeline.
    func noteProgress(_ progress: StoragePipeline.Progress) {
        switch progress {
        case .stored(let count): file.step { $0.stored(download, upTo: count, now: $1) }
        case .unreadable(let chunk): file.step { machine, _ in machine.lost(download, [chunk]) }
        case .repaired(let chunk): file.step { $0.repaired(download, chunk, now: $1) }
        case .failed(let error): fail(error)
        }
    }

    private func fail(_ error: any Error, remains: String? = nil) {
        let size = file.withMachine(\.file.size)
        let problem = context.failures.problem(error, of: file.id, missing: size, remains: remains)
        file.step { $0.completionFailed(download, problem, now: $1) }
    }

    /// Hands the CryptoFile to the core after all chunks passed the pipeline, and reads from there.
    func run() async {
        guard file.withMachine({ $0.phase.isPresent(download) }) else { return }
        let path =
            context.core.stagingFolder + "/received-" + Hexadecimal.encode(SystemRandomSource().bytes(16))
        do {
            guard let copy = try await download.pipeline.finish(at: path) else {
                // The core makes the durable copy itself.
                return file.step { machine, _ in machine.verified(download) }
            }
            let location = try await context.core.completeClaim(
                file.id, staged: FileSourceLocation(path: path, arguments: copy.arguments))
            let whole = try await open(location, copy.tags)
            file.step { machine, _ in machine.completed(download, whole, at: location, cached: whole.cached) }
            context.registry.closeUnused()
        } catch let damage as DamagedChunks {
            fetchAgain(damage.chunks, endsCompletion: true)
        } catch {
            unlink(path)
            fail(error, remains: download.remains)
        }
    }

    /// Downloads chunks again that the disk lost. Fails the hand-over if the disk loses chunks repeatedly.
    func fetchAgain(_ chunks: [Int], endsCompletion: Bool = false) {
        context.failures.log.warning(
            "disk lost written data, fetching again: chunks=\(chunks.count)")
        do throws(HydrationError) {
            try download.pipeline.lost(chunks)
            for chunk in chunks { download.stream.forget(chunk) }
            file.step { machine, _ in machine.damaged(download, chunks, endsCompletion: endsCompletion) }
        } catch {
            let problem = FileProblem(error)
            file.step { $0.completionFailed(download, problem, now: $1) }
        }
    }

    /// Opens the file just written; the writer's tags verify it. The plain cache continues to serve reads.
    private func open(_ location: FileSourceLocation, _ tags: BlockTags) async throws -> WholeContent {
        let (size, contentOffset) = file.withMachine { machine in
            (machine.file.size, machine.phase.chunks(of: download)?.contentOffset)
        }
        let stream = download.stream
        if context.settings.cacheMode == .plain, let contentOffset,
            (0..<stream.layout.count).allSatisfy(stream.keeps)
        {
            let plain = try await onPool { try stream.contentFile(at: contentOffset, size: size) }
            if let plain {
                return WholeContent(.copy(PlainCopy(adopting: plain, size: size, usage: context.cache.usage)))
            }
            return WholeContent(.stream(stream, contentOffset: contentOffset))
        }
        try await onPool {
            let stored = try OpenFile(location.path, flags: O_RDONLY)
            context.verified.add(tags, of: FileStamp(try stored.status()))
        }
        return try await WholeContent.open(location, size: size, verified: context.verified) {}
    }
}
