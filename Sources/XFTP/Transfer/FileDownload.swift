import Base
import Cryptography
import Posix

/// Downloads a whole file: fetches several chunks at once, writes them in order, and verifies each chunk and the whole.
/// Uses 24 MiB of memory for chunks.
public enum FileDownload {
    /// The memory for chunks in bytes: six of the largest official size.
    static let memory = 24 << 20

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
        return try await OrderedDownload(
            reader: reader, destination: destination, contentSize: contentSize, progress: progress
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

/// A download in progress.
private final class OrderedDownload: Sendable {
    private let reader: ChunkwiseReader
    private let destination: any DownloadDestination
    private let contentSize: UInt64?
    private let progress: @Sendable (UInt64, UInt64) -> Void
    private let pool: ChunkBufferPool
    /// The number of chunks in progress, equal to the number of buffers. More would deadlock: the next chunk in order
    /// could wait for a buffer that a later one holds.
    private let window: Int
    private let state = Lock((received: Int64(0), header: FileHeader?.none))

    init(
        reader: ChunkwiseReader, destination: any DownloadDestination, contentSize: UInt64?,
        progress: @escaping @Sendable (UInt64, UInt64) -> Void
    ) {
        self.reader = reader
        self.destination = destination
        self.contentSize = contentSize
        self.progress = progress
        window = max(1, min(reader.layout.count, 6, FileDownload.memory / reader.description.largestChunk))
        pool = ChunkBufferPool(count: window, capacity: reader.description.largestChunk)
    }

    func run() async throws(XFTPError) -> FileHeader {
        let present = try await storing { try self.destination.bytesPresent() }
        var check = try WholeFileCheck(reader.description)
        var next = 0
        if present > 0 {
            // The header gives the offset of the present bytes.
            check = try await consume(try await obtain(0, present: 0), chunk: 0, check: check)
            next = 1
        }
        check = try await inOrder(from: next, present: present, check: check)
        let final = check
        try await ThreadPool.shared.run { () throws(XFTPError) in try final.finish() }
        guard let header = state.withLock({ $0.header }) else { throw .cancelled }
        try await storing { try self.destination.finish(size: header.contentSize) }
        return header
    }

    private func inOrder(
        from first: Int, present: UInt64, check: WholeFileCheck
    ) async throws(XFTPError) -> WholeFileCheck {
        let count = reader.layout.count
        do {
            return try await withThrowingTaskGroup(of: (Int, ChunkBuffer).self) { group in
                var check = check
                var ready: [Int: ChunkBuffer] = [:]
                for chunk in first..<max(first, min(first + window, count)) {
                    group.addTask { (chunk, try await self.obtain(chunk, present: present)) }
                }
                for consumed in first..<max(first, count) {
                    while ready[consumed] == nil, let (chunk, buffer) = try await group.next() {
                        ready[chunk] = buffer
                    }
                    guard let buffer = ready.removeValue(forKey: consumed) else { throw XFTPError.cancelled }
                    check = try await self.consume(buffer, chunk: consumed, check: check)
                    let chunk = consumed + window
                    guard chunk < count else { continue }
                    group.addTask { (chunk, try await self.obtain(chunk, present: present)) }
                }
                return check
            }
        } catch let error as XFTPError {
            throw error
        } catch {
            throw .cancelled
        }
    }

    /// Returns the encrypted chunk: from the destination if an earlier attempt left it and it verifies, otherwise from
    /// a relay.
    private func obtain(_ chunk: Int, present: UInt64) async throws(XFTPError) -> ChunkBuffer {
        let buffer = try await pool.take()
        do throws(XFTPError) {
            if try await storing({ try self.recover(chunk, present: present, into: buffer) }) {
                count(buffer.count)
                return buffer
            }
            try await reader.fetchEncrypted(chunk: chunk, into: buffer, counter: count)
            return buffer
        } catch {
            pool.give(buffer)
            throw error
        }
    }

    /// Encrypts present content again. Works only for chunks that contain nothing but content.
    private func recover(_ chunk: Int, present: UInt64, into buffer: ChunkBuffer) throws -> Bool {
        guard let header = state.withLock({ $0.header }) else { return false }
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
    private func consume(
        _ buffer: ChunkBuffer, chunk: Int, check: WholeFileCheck
    ) async throws(XFTPError) -> WholeFileCheck {
        defer { pool.give(buffer) }
        return try await storing {
            var check = check
            check.update(encrypted: UnsafeRawBufferPointer(buffer.bytes))
            self.reader.transform(buffer, chunk: chunk)
            let header = try self.header(buffer, chunk: chunk)
            let range = self.reader.layout.range(of: chunk)
            let content = header.contentOffset..<header.contentOffset + header.contentSize
            let part = range.clamped(to: content)
            if !part.isEmpty {
                let start = Int(part.lowerBound - range.lowerBound)
                try self.destination.write(
                    UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[start..<start + part.count]),
                    at: part.lowerBound - header.contentOffset)
            }
            return check
        }
    }

    private func header(_ buffer: ChunkBuffer, chunk: Int) throws -> FileHeader {
        if let known = state.withLock({ $0.header }) { return known }
        let header = try reader.header(inFirstChunk: buffer)
        guard contentSize ?? header.contentSize == header.contentSize else { throw FileDownload.otherSize }
        try destination.begin(header)
        state.withLock { $0.header = header }
        return header
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

    @Sendable private func count(_ bytes: Int) {
        let sum = state.withLock { state in
            state.received += Int64(bytes)
            return state.received
        }
        progress(UInt64(max(0, sum)), reader.streamSize)
    }
}
