import Base
import Cryptography
import Posix

/// One described file, read chunk by chunk in any order.
///
/// Positions are those of the decrypted stream: `length ‖ header ‖ content ‖ padding ‖ 16-byte tag`.
/// A chunk is served only after its SHA-256 was found to be the one in the description. Chunk
/// boundaries are multiples of 64 KiB.
public final class ChunkwiseReader: Sendable {
    public let description: FileDescription
    private let client: XFTPClient
    private let offsets: [UInt64]
    private let box: StreamBox

    /// - Parameter description: of a recipient, and not a redirect: follow that first with
    ///   `FileDownload.followRedirect`.
    /// - Throws: `.malformedDescription` for any other, and for one without a proper key.
    public init(_ description: FileDescription, client: XFTPClient) throws(XFTPError) {
        guard description.party == .recipient else {
            throw XFTPError(
                .malformedDescription, "This is the sender's description; the file is read with another.")
        }
        guard description.redirect == nil else {
            throw XFTPError(.malformedDescription, "This description only leads to that of the file.")
        }
        guard description.size >= ChunkPlan.overhead,
            let box = try? StreamBox(key: description.key, nonce: description.nonce)
        else { throw XFTPError(.malformedDescription, "The file description has no proper key.") }
        self.description = description
        self.client = client
        self.box = box
        offsets = description.chunkOffsets
    }

    public var chunkCount: Int { description.chunks.count }
    /// Length of the stream with padding and tag.
    public var streamSize: UInt64 { description.size }
    /// Bytes that a `ChunkBuffer` needs.
    public var largestChunk: Int { description.largestChunk }

    /// Positions of the stream that a chunk holds; `chunk` counts from 0.
    public func streamRange(ofChunk chunk: Int) -> Range<UInt64> { offsets[chunk]..<offsets[chunk + 1] }

    /// The chunk that holds a position of the stream, nil beyond its end.
    public func chunk(at position: UInt64) -> Int? {
        guard position < streamSize else { return nil }
        var (low, high) = (0, chunkCount - 1)
        while low < high {
            let middle = (low + high + 1) / 2
            if offsets[middle] <= position { low = middle } else { high = middle - 1 }
        }
        return low
    }

    /// Fetches a chunk, checks and decrypts it. The last 16 bytes of the last chunk stay as they
    /// are: the tag.
    /// - Throws: as `fetchEncrypted`.
    public func fetch(
        chunk: Int, into buffer: ChunkBuffer, counter: @escaping ByteCounter = { _ in }
    ) async throws(XFTPError) {
        try await fetchEncrypted(chunk: chunk, into: buffer, counter: counter)
        await ThreadPool.shared.run { self.transform(buffer, chunk: chunk) }
    }

    /// Fetches a chunk and checks it, as it lies on the relay.
    /// - Parameter retry: how often to try; nil for the client's own retry policy.
    /// - Throws: as `XFTPClient.fetch`.
    public func fetchEncrypted(
        chunk: Int, into buffer: ChunkBuffer, retry: RetryPolicy? = nil,
        counter: @escaping ByteCounter = { _ in }
    ) async throws(XFTPError) {
        try await client.fetch(description.chunks[chunk], into: buffer, retry: retry, counter: counter)
    }

    /// Decrypts part of what `fetchEncrypted` left in `buffer`, from `offset` of the chunk on, into all
    /// of `target`; the buffer stays as it is. Blocks for about 0.4 ms per MiB.
    public func decrypt(
        _ buffer: ChunkBuffer, chunk: Int, from offset: Int, into target: UnsafeMutableRawBufferPointer
    ) {
        let source = UnsafeRawBufferPointer(rebasing: buffer.bytes[offset..<offset + target.count])
        let start = offsets[chunk] + UInt64(offset)
        let end = streamSize - UInt64(StreamBox.tagLength)
        let sealed = start >= end ? 0 : Int(min(UInt64(source.count), end - start))
        box.transform(UnsafeRawBufferPointer(rebasing: source[..<sealed]), into: target, at: start)
        UnsafeMutableRawBufferPointer(rebasing: target[sealed...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[sealed...]))
    }

    /// Decrypts what `fetchEncrypted` left in `buffer`, or encrypts it again. Blocks for about 1 ms per
    /// 4 MiB: for a pool thread.
    public func transform(_ buffer: ChunkBuffer, chunk: Int) {
        let start = offsets[chunk]
        let end = min(UInt64(buffer.count), streamSize - UInt64(StreamBox.tagLength) - start)
        box.transform(UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[..<Int(end)]), at: start)
    }

    /// Reads the header from the decrypted first chunk.
    /// - Throws: `.damaged` when it contradicts the length of the file.
    public func header(inFirstChunk buffer: ChunkBuffer) throws(XFTPError) -> FileHeader {
        let prefix = Array(buffer.bytes.prefix(FileHeader.maxLength))
        guard let header = FileHeader(stream: prefix, streamSize: streamSize) else {
            throw XFTPError(
                .damaged, "The file's header makes no sense: it was not sent by a SimpleX program.")
        }
        return header
    }
}
