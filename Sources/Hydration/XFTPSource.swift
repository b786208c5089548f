import Base
import ChatCore
import Posix
import XFTP

/// The chunks of a claimed file on their relays.
struct XFTPSource: ChunkSource {
    let chunks: [ChunkPlace]
    var arguments: FileArguments {
        FileArguments(key: reader.description.key, nonce: reader.description.nonce)
    }
    private let reader: ChunkwiseReader
    private let buffers: SpareBuffers

    /// Reads the description, which blocks. One that only leads to another is refused: it would lead to
    /// relays that nobody has approved.
    init(_ claim: ClaimedFile, client: XFTPClient, buffers: SpareBuffers) throws {
        let description = try FileDescription(parsing: claim.description)
        reader = try ChunkwiseReader(description, client: client)
        self.buffers = buffers
        var names: [RelayAddress: String] = [:]
        // Counted for its first relay: the client turns to another only when that one fails or is silent.
        chunks = description.chunks.map { chunk in
            guard let relay = chunk.replicas.first?.relay else {
                return ChunkPlace(size: chunk.size, relay: "")
            }
            let name = names[relay] ?? relay.text
            names[relay] = name
            return ChunkPlace(size: chunk.size, relay: name)
        }
    }

    func fetch(
        _ chunk: Int, progress: @escaping @Sendable (_ received: UInt64) -> Void
    ) async throws -> any FetchedChunk {
        let fetched = BufferedChunk(buffers, reader, chunk)
        // The first byte is a sign as well: it tells how far away the relay is.
        let counted = Lock((received: 0, told: -Self.progressStep))
        try await reader.fetchEncrypted(chunk: chunk, into: fetched.buffer, retry: Self.retryPolicy) {
            count in
            let received = counted.withLock { counted -> Int? in
                counted.received += count
                // Another attempt has begun: its first bytes are a sign again.
                if count < 0 { counted.told = counted.received - Self.progressStep }
                guard count > 0 else { return nil }
                guard counted.received - counted.told >= Self.progressStep else { return nil }
                counted.told = counted.received
                return counted.received
            }
            if let received { progress(UInt64(received)) }
        }
        return fetched
    }

    /// A relay that refuses connections is known to be gone after four to five seconds: whoever reads hears it
    /// then. The hydrator goes on trying.
    private static let retryPolicy = RetryPolicy(first: .milliseconds(200), maxDelay: .seconds(2), tries: 6)

    /// Bytes between two signs of life.
    private static let progressStep = 256 << 10

    /// Without the SHA-512: each chunk was compared with its own digest.
    func wholeCheck() throws -> any WholeCheck {
        Check(check: try WholeFileCheck(reader.description, comparesDigest: false))
    }

    func encrypt(_ bytes: UnsafeMutableRawBufferPointer, at position: UInt64) {
        reader.encrypt(bytes, at: position)
    }

    private struct Check: WholeCheck {
        var check: WholeFileCheck

        mutating func add(encrypted bytes: UnsafeRawBufferPointer) { check.update(encrypted: bytes) }
        func finish() throws { try check.finish() }
    }
}

/// A chunk in the memory it was received into.
private final class BufferedChunk: FetchedChunk {
    let buffer: ChunkBuffer
    private let buffers: SpareBuffers
    private let reader: ChunkwiseReader
    private let chunk: Int

    init(_ buffers: SpareBuffers, _ reader: ChunkwiseReader, _ chunk: Int) {
        self.buffers = buffers
        self.reader = reader
        self.chunk = chunk
        buffer = buffers.take(reader.streamRange(ofChunk: chunk).count)
    }

    deinit { buffers.give(buffer) }

    var count: Int { buffer.count }

    func withEncrypted(_ body: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        try body(UnsafeRawBufferPointer(buffer.bytes))
    }

    func decrypt(from offset: Int, into target: UnsafeMutableRawBufferPointer) {
        reader.decrypt(buffer, chunk: chunk, from: offset, into: target)
    }
}

/// Chunk memory that was used before: mapping 4 MiB afresh for every chunk costs as much as hashing it.
/// All is given back to the system when nothing is in flight. How much is out at once is bounded by the
/// hydrator's settings; memory of a silent relay's chunks was never touched.
final class SpareBuffers: Sendable {
    private let state = Lock((spare: [ChunkBuffer](), out: 0), rank: .innermost)
    /// As many as go through the check or wait for it while others arrive.
    private static let maxSpare = 6

    func take(_ size: Int) -> ChunkBuffer {
        let found: ChunkBuffer? = state.withLock { state in
            state.out += 1
            guard let index = state.spare.firstIndex(where: { $0.capacity == size }) else { return nil }
            return state.spare.remove(at: index)
        }
        return found ?? ChunkBuffer(capacity: size)
    }

    func give(_ buffer: ChunkBuffer) {
        buffer.count = 0
        // Freed outside the lock.
        let released: [ChunkBuffer] = state.withLock { state in
            state.out -= 1
            state.spare.append(buffer)
            if state.out == 0 {
                defer { state.spare = [] }
                return state.spare
            }
            return state.spare.count > Self.maxSpare ? [state.spare.removeFirst()] : []
        }
        withExtendedLifetime(released) {}
    }
}

extension Hydrator {
    /// The hydrator of the program: claimed files come over XFTP.
    /// - Throws: `cache` when the folder cannot be emptied.
    public convenience init(
        core: any FileTransferring, client: XFTPClient, cacheFolder: PrivateFolder,
        settings: HydrationSettings = HydrationSettings(), retention: RetentionList? = nil
    ) throws(HydrationError) {
        let buffers = SpareBuffers()
        try self.init(core: core, cacheFolder: cacheFolder, settings: settings, retention: retention) {
            claim in
            try await ThreadPool.shared.run { try XFTPSource(claim, client: client, buffers: buffers) }
        }
    }
}
