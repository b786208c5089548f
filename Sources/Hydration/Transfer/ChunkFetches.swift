import Base
import ChatCore
import Cryptography
import Posix
import XFTP

/// Downloads the chunks of one file, or compares those that an earlier mount received. Readers get the bytes of a chunk
/// as soon as its digest matches; then it is stored. The first chunk also contains the header with the content's
/// position.
final class ChunkFetches: ChunkRequester {
    let download: Download
    private let file: CachedFile
    private let context: HydrationContext

    init(of file: CachedFile, _ download: Download) {
        self.file = file
        self.download = download
        context = file.context
    }

    var tasks: TaskSet { context.tasks }

    func started(_ chunk: Int) -> Bool { file.started(download, chunk) }

    /// A chunk of an earlier mount that fails its check is missing afterwards.
    func fetch(_ fetch: GrantedFetch) async throws {
        guard file.withMachine({ $0.phase.isPresent(download) }) else { return }
        let chunk = fetch.chunk
        let unchecked = download.store.uncheckedFile(chunk)
        let found: (any FetchedChunk)? =
            if let unchecked { await check(chunk, unchecked) } else { try await receive(fetch) }
        guard let fetched = found else { return }
        guard fetched.bytes.count == Int(download.layout.size(of: chunk)) else {
            throw HydrationError(.damaged, "A chunk's length differs from the file description.")
        }
        let offset = chunk == 0 ? try contentOffset(fetched) : nil
        download.store.hold(fetched, chunk)
        fetch.arrived {
            file.step { machine, now in
                machine.arrived(download, chunk, contentOffset: offset, now: now)
            }
        }
        await ChunkStore.threads.run { [file, download] in
            ChunkStorage(of: file, download).store(fetched, chunk, isHere: unchecked != nil)
        }
    }

    func failed(_ chunk: Int, _ error: any Error, wasCancelled: Bool) {
        let problem = context.failures.problem(
            error, of: file.id, missing: download.layout.size(of: chunk), remains: download.remains)
        file.step { machine, now in
            machine.fetchFailed(download, chunk, problem, wasCancelled: wasCancelled, now: now)
        }
    }

    private func receive(_ fetch: GrantedFetch) async throws -> any FetchedChunk {
        try await download.source.fetch(fetch.chunk) { [file, download] received in
            fetch.progressed(received: received)
            file.progressed(download, fetch.chunk)
        }
    }

    /// Returns nil for a chunk that is damaged or cannot be read. It is then missing.
    private func check(_ chunk: Int, _ disk: OpenFile) async -> (any FetchedChunk)? {
        let range = download.layout.range(of: chunk)
        let log = context.failures.log
        do throws(SystemError) {
            let found = try await ChunkStore.threads.run {
                [download] () throws(SystemError) -> (any FetchedChunk)? in
                // The bytes in memory may have failed to reach the disk.
                disk.dropFromMemory(range)
                return try download.source.read(chunk, from: disk)
            }
            if let found { return found }
            log.notice("chunk of an earlier mount damaged: file=\(file.id.rawValue)")
        } catch {
            log.notice(
                "chunk of an earlier mount not read: file=\(file.id.rawValue) error=\(error.sentence)")
        }
        download.store.forget(chunk)
        file.step { machine, _ in machine.checkFailed(download, chunk) }
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
