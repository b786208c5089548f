import Base
import Cryptography
import Posix
import Synchronization

/// Downloads a whole file: fetches several chunks at once, writes them in order, and verifies each chunk and the whole.
public enum FileDownload {
    /// Downloads the described file into `destination`. Follows a redirect first.
    ///
    /// - Parameters:
    ///   - contentSize: The announced size in bytes, or nil if unknown.
    ///   - progress: Receives encrypted bytes received and in total. Called often, from any thread.
    /// - Returns: The header of the file.
    /// - Throws: The errors of `followRedirect`, `ChunkwiseReader` and `XFTPClient.fetch`; `.damaged` if the header or
    ///   the whole file is wrong. A wrong size is thrown before anything is fetched or written. `.storage` if
    ///   `destination` fails, with its error as the cause.
    @discardableResult
    public static func run(
        _ description: FileDescription, client: XFTPClient, to destination: any DownloadDestination,
        contentSize: UInt64? = nil,
        progress: @escaping @Sendable (_ received: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) async throws(XFTPError) -> FileHeader {
        let resolved = try await followRedirect(description, client: client)
        let reader = try ChunkwiseReader(resolved, client: client)
        if let contentSize, !ChunkPlan.fits(streamSize: reader.streamSize, content: contentSize) {
            throw otherSize
        }
        let present = try await storing { try destination.bytesPresent() }
        return try await OrderedDownload(
            reader, transfers: client.transfers, to: destination, present: present, contentSize: contentSize,
            progress: progress
        ).run()
    }

    fileprivate static let otherSize = XFTPError(
        .damaged, "The file's size differs from the size in its message; it was not received.")

    /// Returns the description, or the one to which it redirects. The latter must have the announced size and digest.
    /// - Throws: The errors of `run`; `.malformedDescription` if the target is no description, `.damaged` if it
    ///   describes another file.
    public static func followRedirect(
        _ description: FileDescription, client: XFTPClient
    ) async throws(XFTPError) -> FileDescription {
        guard let redirect = description.redirect else { return description }
        var direct = description
        direct.redirect = nil
        let content = MemoryDestination()
        try await run(direct, client: client, to: content)
        guard let text = String(validating: content.bytes, as: UTF8.self) else {
            throw XFTPError(.malformedDescription, "The link does not lead to a file description.")
        }
        let found = try await FileDescription.parse(text)
        guard found.size == redirect.size, found.digest == redirect.digest, found.redirect == nil else {
            throw XFTPError(.damaged, "The link leads to the description of another file.")
        }
        return found
    }
}

/// A download in progress. Its chunks arrive in any order, and each is written after all earlier ones.
private final class OrderedDownload: ChunkRequester {
    private struct State {
        /// The first chunk that is not being fetched yet.
        var granted = 0
        /// Wakes each chunk when all earlier ones are written.
        var turns = [0: AsyncSemaphore(1)]
        var header: FileHeader?
        var failure: XFTPError?
        /// True if nothing more is fetched.
        var isOver = false

        mutating func turn(of chunk: Int) -> AsyncSemaphore {
            let turn = turns[chunk] ?? AsyncSemaphore(0)
            turns[chunk] = turn
            return turn
        }
    }

    let tasks = TaskSet()
    private let reader: ChunkwiseReader
    private let transfers: ChunkTransfers
    private let destination: any DownloadDestination
    private let present: UInt64
    private let contentSize: UInt64?
    private let progress: @Sendable (UInt64, UInt64) -> Void
    private let received = Atomic<Int64>(0)
    /// Changed by one chunk after the other.
    private let check: Lock<WholeFileCheck>
    private let state = Lock(State(), rank: .chunkRequester)
    private let end = AsyncSemaphore(0)

    /// - Parameter present: The number of content bytes that an earlier attempt left.
    /// - Throws: `.malformedDescription` for an invalid key.
    init(
        _ reader: ChunkwiseReader, transfers: ChunkTransfers, to destination: any DownloadDestination,
        present: UInt64, contentSize: UInt64?, progress: @escaping @Sendable (UInt64, UInt64) -> Void
    ) throws(XFTPError) {
        self.reader = reader
        self.transfers = transfers
        self.destination = destination
        self.present = present
        self.contentSize = contentSize
        self.progress = progress
        check = try Lock(WholeFileCheck(reader.description))
    }

    func run() async throws(XFTPError) -> FileHeader {
        state.withLock { request($0) }
        transfers.schedule()
        if await !end.acquire() { stop(XFTPError.cancelled) }
        // Nothing is written after the return.
        await tasks.close()
        let (header, failure) = state.withLock { ($0.header, $0.failure) }
        guard failure == nil, let header else { throw failure ?? .cancelled }
        let final = check.withLock { $0 }
        try await ThreadPool.shared.run { () throws(XFTPError) in try final.finish() }
        try await storing { [destination] in try destination.finish(size: header.contentSize) }
        return header
    }

    // MARK: - Requests

    /// Requests the next chunks. Call it with the lock held.
    private func request(_ state: State) {
        // The header gives the offset of the present bytes.
        let end = present > 0 && state.header == nil ? 1 : reader.layout.count
        var requests = FetchRequests()
        requests.ahead = Array(
            (state.granted..<max(state.granted, end)).prefix(transfers.settings.maxRequests))
        (requests.isWanted, requests.isInOrder) = (true, true)
        transfers.update(self, reader.layout, requests)
    }

    func started(_ chunk: Int) -> Bool {
        state.withLock { state in
            guard !state.isOver else { return false }
            state.granted = max(state.granted, chunk + 1)
            request(state)
            return true
        }
    }

    func failed(_ chunk: Int, _ error: any Error, wasCancelled: Bool) {
        stop(error as? XFTPError ?? .cancelled)
    }

    /// Ends the download at the first call.
    private func stop(_ failure: XFTPError? = nil) {
        state.withLock { state in
            guard !state.isOver else { return }
            (state.isOver, state.failure) = (true, failure)
            transfers.remove(self)
        }
        end.release()
    }

    // MARK: - Chunks

    /// Takes an encrypted chunk from the destination if an earlier attempt left it and it verifies, otherwise from a
    /// relay.
    func fetch(_ fetch: GrantedFetch) async throws {
        let (chunk, buffer) = (fetch.chunk, reader.buffer(for: fetch.chunk))
        if try await storing({ try self.recover(chunk, into: buffer.buffer) }) {
            count(buffer.buffer.count)
        } else {
            let steps = ProgressSteps { fetch.progressed(received: $0) }
            try await reader.fetchEncrypted(chunk: chunk, into: buffer.buffer) { bytes in
                self.count(bytes)
                steps.count(bytes)
            }
        }
        fetch.arrived()
        guard await state.withLock({ $0.turn(of: chunk) }).acquire() else { throw XFTPError.cancelled }
        try await storing { try self.consume(buffer.buffer, chunk: chunk) }
        written(chunk)
    }

    private func written(_ chunk: Int) {
        let turn = state.withLock { state in
            // The header is known now.
            if chunk == 0, !state.isOver { request(state) }
            state.turns[chunk] = nil
            return state.turn(of: chunk + 1)
        }
        turn.release()
        if chunk + 1 == reader.layout.count { stop() }
    }

    /// Encrypts present content again. Works only for chunks that contain nothing but content.
    private func recover(_ chunk: Int, into buffer: ChunkBuffer) throws -> Bool {
        guard present > 0, let header = state.withLock({ $0.header }) else { return false }
        let range = reader.layout.range(of: chunk)
        let end = header.contentOffset + min(present, header.contentSize)
        guard range.lowerBound >= header.contentOffset, range.upperBound <= end,
            range.upperBound <= reader.streamSize - UInt64(StreamBox.tagLength)
        else { return false }
        buffer.count = range.count
        let offset = range.lowerBound - header.contentOffset
        guard try destination.read(into: buffer.bytes, at: offset) == buffer.count else { return false }
        reader.transform(buffer, chunk: chunk)
        return SHA256.hash(UnsafeRawBufferPointer(buffer.bytes)) == reader.description.chunks[chunk].digest
    }

    /// Verifies, decrypts and writes the next chunk.
    private func consume(_ buffer: ChunkBuffer, chunk: Int) throws {
        check.withLock { $0.update(encrypted: UnsafeRawBufferPointer(buffer.bytes)) }
        reader.transform(buffer, chunk: chunk)
        let header = try self.header(buffer)
        let range = reader.layout.range(of: chunk)
        let content = header.contentOffset..<header.contentOffset + header.contentSize
        let part = range.clamped(to: content)
        guard !part.isEmpty else { return }
        let start = Int(part.lowerBound - range.lowerBound)
        try destination.write(
            UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[start..<start + part.count]),
            at: part.lowerBound - header.contentOffset)
    }

    private func header(_ buffer: ChunkBuffer) throws -> FileHeader {
        if let known = state.withLock({ $0.header }) { return known }
        let header = try reader.header(inFirstChunk: buffer)
        guard contentSize ?? header.contentSize == header.contentSize else { throw FileDownload.otherSize }
        try destination.begin(header)
        state.withLock { $0.header = header }
        return header
    }

    @Sendable private func count(_ bytes: Int) {
        let sum = received.wrappingAdd(Int64(bytes), ordering: .relaxed).newValue
        progress(UInt64(max(0, sum)), reader.streamSize)
    }
}

/// Runs blocking work of the destination and wraps its errors.
private func storing<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
) async throws(XFTPError) -> Result {
    do {
        return try await ThreadPool.shared.run(body)
    } catch let error as XFTPError {
        throw error
    } catch {
        throw XFTPError(
            .storage, "The received file could not be written: \(sentence(of: error))", cause: error)
    }
}
