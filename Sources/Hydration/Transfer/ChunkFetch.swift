import Base
import ChatCore
import Cryptography
import Posix
import XFTP

/// Downloads one chunk, or compares the one that an earlier mount received. Readers get its bytes as soon as the digest
/// matches; then it is stored. The first chunk also contains the header with the content's position.
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

    /// Returns the problem, or nil if the chunk was kept or failed its check.
    func run() async -> FileProblem? {
        guard file.withMachine({ $0.phase.isPresent(download) }) else { return nil }
        let layout = download.layout
        do {
            let unchecked = download.store.uncheckedFile(fetch.chunk)
            let chunk = if let unchecked { await check(unchecked) } else { try await receive() }
            guard let fetched = chunk else { return nil }
            guard fetched.bytes.count == Int(layout.size(of: fetch.chunk)) else {
                throw HydrationError(.damaged, "A chunk's length differs from the file description.")
            }
            let offset = fetch.chunk == 0 ? try contentOffset(fetched) : nil
            download.store.hold(fetched, fetch.chunk)
            transfers.arrived(fetch, contentOffset: offset)
            await ChunkStore.threads.run {
                ChunkStorage(of: file, download).store(fetched, fetch.chunk, isHere: unchecked != nil)
            }
            return nil
        } catch {
            let size = layout.size(of: fetch.chunk)
            return context.failures.problem(error, of: file.id, missing: size, remains: download.remains)
        }
    }

    private func receive() async throws -> any FetchedChunk {
        try await download.source.fetch(fetch.chunk) { [transfers, fetch] received in
            transfers.progressed(fetch, received: received)
        }
    }

    /// Returns nil for a chunk that is damaged or cannot be read. It is then missing.
    private func check(_ disk: OpenFile) async -> (any FetchedChunk)? {
        let range = download.layout.range(of: fetch.chunk)
        let found = await ChunkStore.threads.run { () -> (any FetchedChunk)? in
            // The bytes in memory may have failed to reach the disk.
            disk.dropFromMemory(range)
            return try? download.source.read(fetch.chunk, from: disk)
        }
        if found != nil { return found }
        context.failures.log.notice("chunk of an earlier mount damaged: file=\(file.id.rawValue)")
        download.store.forget(fetch.chunk)
        file.step { machine, _ in machine.checkFailed(download, fetch.chunk) }
        return nil
    }

    private func contentOffset(_ fetched: any FetchedChunk) throws -> UInt64 {
        let front = [UInt8](unsafeUninitializedCapacity: FileHeader.maxLength) { buffer, count in
            count = min(buffer.count, fetched.bytes.count)
            let target = UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: buffer[..<count]))
            download.store.decrypt(fetched, 0, from: 0, into: target)
        }
        guard let header = FileHeader(stream: front, streamSize: download.layout.streamSize) else {
            throw HydrationError(.damaged, "The file's header is invalid, so its content is not shown.")
        }
        guard header.contentSize == file.withMachine(\.file.size) else {
            throw HydrationError(.damaged, FileProblem.wrongLength.sentence)
        }
        return header.contentOffset
    }
}
