import ChatCore
import Cryptography
import Posix
import XFTP

extension Hydrator {
    /// A hydrator that fetches over XFTP.
    public convenience init(
        core: any ChatCore, client: XFTPClient, cacheFolder: PrivateFolder,
        settings: HydrationSettings = HydrationSettings()
    ) throws(HydrationError) {
        try self.init(core: core, cacheFolder: cacheFolder, settings: settings) { claim in
            let description = try FileDescription(parsing: claim.description)
            let resolved = try await FileDownload.followRedirect(description, client: client)
            return RelayChunkSource(try ChunkwiseReader(resolved, client: client))
        }
    }
}

/// The chunks of a described file, from the relays that hold them.
struct RelayChunkSource: ChunkSource {
    let chunks: [ChunkPlace]
    private let reader: ChunkwiseReader
    private let buffers: ChunkBufferPool

    /// Fetches of one file that hold a buffer at a time.
    private static let mostBuffers = 4

    init(_ reader: ChunkwiseReader) {
        self.reader = reader
        buffers = ChunkBufferPool(count: Self.mostBuffers, capacity: reader.largestChunk)
        chunks = reader.description.chunks.map { chunk in
            ChunkPlace(size: chunk.size, relay: chunk.replicas.first?.relay.text ?? "")
        }
    }

    func fetch(
        _ chunk: Int, receive: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
    ) async throws {
        let buffer = try await buffers.take()
        defer { buffers.give(buffer) }
        try await reader.fetch(chunk: chunk, into: buffer)
        try await ThreadPool.shared.run { try receive(UnsafeRawBufferPointer(buffer.bytes)) }
    }

    func wholeCheck() throws -> any WholeCheck {
        RelayWholeCheck(check: try WholeFileCheck(reader.description))
    }
}

private struct RelayWholeCheck: WholeCheck {
    var check: WholeFileCheck

    mutating func add(_ stream: UnsafeMutableRawBufferPointer) throws { check.update(stream: stream) }
    func finish() throws { try check.finish() }
}
