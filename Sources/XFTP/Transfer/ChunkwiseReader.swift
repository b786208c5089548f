import Base
import Cryptography
import Posix

/// Reads the chunks of one described file in any order.
///
/// Positions refer to the decrypted stream: `length ‖ header ‖ content ‖ padding ‖ 16-byte tag`. A chunk is returned
/// only if its SHA-256 matches the description. Chunk boundaries are multiples of 64 KiB.
public final class ChunkwiseReader: Sendable {
    public let description: FileDescription
    public let layout: ChunkLayout
    private let client: XFTPClient
    private let box: StreamBox

    /// - Parameter description: A recipient's description, not a redirect: `FileDownload.followRedirect` resolves
    ///   those.
    /// - Throws: `.malformedDescription` for other descriptions and invalid keys.
    public init(_ description: FileDescription, client: XFTPClient) throws(XFTPError) {
        guard description.party == .recipient else {
            throw XFTPError(
                .malformedDescription,
                "This is the sender's description; receive the file with a recipient's description.")
        }
        guard description.redirect == nil else {
            throw XFTPError(
                .malformedDescription, "This description redirects to the description of the file.")
        }
        guard description.size >= ChunkPlan.overhead, let layout = ChunkLayout(description.places),
            let box = try? StreamBox(key: description.key, nonce: description.nonce)
        else { throw XFTPError(.malformedDescription, "The file description has an invalid key.") }
        self.description = description
        self.client = client
        self.box = box
        self.layout = layout
    }

    /// The length of the stream with padding and tag, in bytes.
    public var streamSize: UInt64 { description.size }

    /// Returns memory for a chunk.
    public func buffer(for chunk: Int) -> BufferedChunk {
        BufferedChunk(client.buffers, Int(layout.size(of: chunk)))
    }

    /// Fetches, verifies and decrypts a chunk. The last 16 bytes of the last chunk, the tag, stay encrypted.
    /// - Throws: The errors of `fetchEncrypted`.
    public func fetch(
        chunk: Int, into buffer: ChunkBuffer, counter: @escaping ByteCounter = { _ in }
    ) async throws(XFTPError) {
        try await fetchEncrypted(chunk: chunk, into: buffer, counter: counter)
        await ThreadPool.shared.run { self.transform(buffer, chunk: chunk) }
    }

    /// Fetches and verifies a chunk without decrypting it.
    /// - Parameter retry: The retry policy, or nil for the client's.
    /// - Throws: The errors of `XFTPClient.fetch`.
    public func fetchEncrypted(
        chunk: Int, into buffer: ChunkBuffer, retry: RetryPolicy? = nil,
        counter: @escaping ByteCounter = { _ in }
    ) async throws(XFTPError) {
        try await client.fetch(description.chunks[chunk], into: buffer, retry: retry, counter: counter)
    }

    /// Reads an encrypted chunk from a file with the whole stream. Returns false if it differs from the description.
    /// Blocks on disk I/O.
    public func read(
        chunk: Int, from file: OpenFile, into buffer: ChunkBuffer
    ) throws(SystemError) -> Bool {
        let range = layout.range(of: chunk)
        buffer.count = try file.read(
            into: UnsafeMutableRawBufferPointer(rebasing: buffer.storage[..<range.count]),
            at: range.lowerBound)
        return buffer.count == range.count
            && SHA256.hash(UnsafeRawBufferPointer(buffer.bytes)) == description.chunks[chunk].digest
    }

    /// Decrypts an encrypted chunk in place, or encrypts it again. Blocks for about 1 ms per 4 MiB, so run it on a pool
    /// thread.
    public func transform(_ buffer: ChunkBuffer, chunk: Int) {
        let start = layout.range(of: chunk).lowerBound
        let end = min(UInt64(buffer.count), streamSize - UInt64(StreamBox.tagLength) - start)
        box.transform(UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[..<Int(end)]), at: start)
    }

    /// Reads the header in the decrypted first chunk.
    /// - Throws: `.damaged` if it contradicts the length of the file.
    public func header(inFirstChunk buffer: ChunkBuffer) throws(XFTPError) -> FileHeader {
        let prefix = Array(buffer.bytes.prefix(FileHeader.maxLength))
        guard let header = FileHeader(stream: prefix, streamSize: streamSize) else {
            throw XFTPError(
                .damaged, "The file's header is invalid; it was not sent by a SimpleX program.")
        }
        return header
    }
}
