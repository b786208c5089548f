import Base
import ChatCore
import Cryptography
import Posix
import XFTP

/// Downloads one chunk. Readers get its bytes as soon as the digest matches; then it goes to the storage
/// pipeline, or into the cache if the pipeline is behind. The first chunk also contains the header with the
/// content's position.
struct ChunkFetch: Sendable {
    private let fetch: ChunkTransfers.Fetch
    private let transfers: ChunkTransfers
    private let file: CachedFile
    private let download: Download
    private let context: HydrationContext

    init(_ fetch: ChunkTransfers.Fetch, transfers: ChunkTransfers) {
        self.fetch = fetch
        self.transfers = transfers
        file = fetch.file.file
        download = fetch.file.download
        context = file.context
    }

    /// Returns the problem, or nil if the chunk was kept.
    func run() async -> FileProblem? {
        guard file.withMachine({ $0.phase.isPresent(download) }) else { return nil }
        let layout = download.layout
        do {
            let fetched = try await download.source.fetch(fetch.chunk) { [transfers, fetch] received in
                transfers.progressed(fetch, received: received)
            }
            guard fetched.count == Int(layout.size(of: fetch.chunk)) else {
                throw HydrationError(.damaged, "A chunk's length differs from the file description.")
            }
            let offset = fetch.chunk == 0 ? try contentOffset(fetched) : nil
            download.stream.hold(fetched, fetch.chunk)
            transfers.arrived(fetch, contentOffset: offset)
            try await keep(fetched)
            return nil
        } catch {
            let size = layout.size(of: fetch.chunk)
            return context.failures.problem(error, of: file.id, missing: size, remains: download.remains)
        }
    }

    private func contentOffset(_ fetched: any FetchedChunk) throws -> UInt64 {
        let front = [UInt8](unsafeUninitializedCapacity: FileHeader.maxLength) { buffer, count in
            count = min(buffer.count, fetched.count)
            let target = UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: buffer[..<count]))
            fetched.decrypt(from: 0, into: target)
        }
        guard let header = FileHeader(stream: front, streamSize: download.layout.streamSize) else {
            throw HydrationError(.damaged, "The file's header is invalid, so its content is not shown.")
        }
        guard header.contentSize == file.withMachine(\.file.size) else {
            throw HydrationError(.damaged, FileProblem.wrongLength.sentence)
        }
        return header.contentOffset
    }

    private func keep(_ fetched: any FetchedChunk) async throws {
        let pipeline = download.pipeline
        if pipeline.servesReaders, await pipeline.take(fetch.chunk, fetched) {
            // The pipeline uses disk space too, so evict old files.
            return await ThreadPool.shared.run { _ = context.reserveCapacity(0, for: file) }
        }
        do {
            try await onPool { try self.store(fetched) }
        } catch {
            download.stream.forget(fetch.chunk)
            throw error
        }
        if pipeline.servesReaders {
            pipeline.proceed()
        } else {
            _ = await pipeline.take(fetch.chunk, fetched)
        }
    }

    /// Keeps the chunk on the disk, evicting old files for it, or in memory if there is no space. Blocks on
    /// disk I/O.
    private func store(_ fetched: any FetchedChunk) throws {
        if context.cache.usesDisk && context.reserveCapacity(UInt64(fetched.count), for: file) {
            do {
                return try download.stream.keepOnDisk(fetched, fetch.chunk)
            } catch  where FileProblem(error).kind == .noSpace {
                context.failures.log.notice("cache disk full, keeping a chunk in memory")
            }
        }
        let evicted = download.stream.keepInMemory(fetched, fetch.chunk)
        if !evicted.isEmpty { tell(of: evicted) }
    }

    /// Reports chunks of any file that were evicted from memory.
    private func tell(of evicted: [ChunkMemory.Key]) {
        for file in context.registry.all {
            guard case .chunks(let download) = file.withMachine(\.phase.content) else { continue }
            let stream = download.stream
            let lost = evicted.filter { $0.stream == stream.id && !stream.holds($0.chunk) }.map(\.chunk)
            if !lost.isEmpty { file.step { machine, _ in machine.lost(download, lost) } }
        }
    }
}
