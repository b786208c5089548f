import Base
import ChatCore
import Posix
import XFTP

/// The chunks of a claimed file on XFTP relays.
struct XFTPSource: ChunkSource {
    let chunks: [ChunkPlace]
    var arguments: FileArguments {
        FileArguments(key: reader.description.key, nonce: reader.description.nonce)
    }
    private let reader: ChunkwiseReader
    private let buffers: SpareBuffers

    /// Parses the description; blocks. Rejects redirects to another description, whose relays were not
    /// approved.
    init(_ claim: ClaimedFile, client: XFTPClient, buffers: SpareBuffers) throws {
        let description = try FileDescription(parsing: claim.description)
        reader = try ChunkwiseReader(description, client: client)
        self.buffers = buffers
        var names: [RelayAddress: String] = [:]
        // Chunks count for their first relay; the client uses another one only if that fails or is silent.
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
        let fetched = BufferedChunk(buffers, reader.streamRange(ofChunk: chunk).count)
        // The first byte is reported too, since it measures the relay's latency.
        let counted = Lock((received: 0, told: -Self.progressStep))
        try await reader.fetchEncrypted(chunk: chunk, into: fetched.buffer, retry: Self.retryPolicy) {
            count in
            let received = counted.withLock { counted -> Int? in
                counted.received += count
                // Another attempt has started; report its first bytes.
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

    func read(_ chunk: Int, from file: OpenFile) throws(SystemError) -> (any FetchedChunk)? {
        let found = BufferedChunk(buffers, reader.streamRange(ofChunk: chunk).count)
        return try reader.read(chunk: chunk, from: file, into: found.buffer) ? found : nil
    }

    /// Reports a relay that refuses connections after 4 to 5 s. The hydrator retries later.
    private static let retryPolicy = RetryPolicy(first: .milliseconds(200), maxDelay: .seconds(2), tries: 6)

    /// Bytes between two progress reports.
    private static let progressStep = 256 << 10
}

/// A chunk in its receive buffer.
private final class BufferedChunk: FetchedChunk {
    let buffer: ChunkBuffer
    private let buffers: SpareBuffers

    init(_ buffers: SpareBuffers, _ size: Int) {
        self.buffers = buffers
        buffer = buffers.take(size)
    }

    deinit { buffers.give(buffer) }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(buffer.bytes) }
}

/// Reuses chunk buffers, because mapping 4 MiB for each chunk costs as much as hashing it. All are freed when
/// no chunk is in use. The hydrator's settings limit that number; buffers of a silent relay are untouched
/// memory.
final class SpareBuffers: Sendable {
    private let state = Lock((spare: [ChunkBuffer](), out: 0), rank: .innermost)
    /// Enough for the chunks that are stored while others arrive.
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
    /// Creates the program's hydrator, which downloads over XFTP.
    /// - Throws: `cache` if the folder cannot be emptied.
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
