import Base
import ChatCore
import Cryptography
import Posix
import XFTP

/// Downloads one chunk, unless an earlier mount has received it. Readers get its bytes as soon as the digest matches; then it is stored. The first chunk
/// also contains the header with the content's position.
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
            let found = try await chunkOfEarlierMount()
            let fetched: any FetchedChunk
            if let found {
                fetched = found
            } else {
                fetched = try await download.source.fetch(fetch.chunk) { [transfers, fetch] received in
                    transfers.progressed(fetch, received: received)
                }
            }
            guard fetched.bytes.count == Int(layout.size(of: fetch.chunk)) else {
                throw HydrationError(.damaged, "A chunk's length differs from the file description.")
            }
            let offset = fetch.chunk == 0 ? try contentOffset(fetched) : nil
            download.store.hold(fetched, fetch.chunk)
            transfers.arrived(fetch, contentOffset: offset)
            await ChunkStore.threads.run {
                ChunkStorage(of: file, download).store(fetched, fetch.chunk, isHere: found != nil)
            }
            return nil
        } catch {
            let size = layout.size(of: fetch.chunk)
            return context.failures.problem(error, of: file.id, missing: size, remains: download.remains)
        }
    }

    private func chunkOfEarlierMount() async throws -> (any FetchedChunk)? {
        guard let disk = download.store.uncheckedFile(fetch.chunk) else { return nil }
        let found = try await ChunkStore.threads.run { () throws(any Error) in
            try download.source.read(fetch.chunk, from: disk)
        }
        if found == nil { download.store.forget(fetch.chunk) }
        return found
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
