import Base
import Cryptography
import Posix
import TestSupport
import Testing

@testable import XFTP

/// The memory of a chunk for a far relay, released before the confirmation.
@Suite struct OutgoingChunkTests {
    private static let bytes = someBytes(9_000_000)

    /// Returns the first chunks of a file, each with its own memory, and their pool.
    private static func made(
        _ count: Int, of source: some UploadSource, buffers: Int
    ) async throws -> (chunks: [OutgoingChunk], pool: ChunkBufferPool) {
        let state = UploadState(fileName: "a", size: source.size, recipients: 1, random: SystemRandomSource())
        let producer = try ChunkProducer(source: source, state: state, isSingle: false)
        let pool = ChunkBufferPool(count: buffers, capacity: Int(producer.sizes.max() ?? 0))
        var chunks: [OutgoingChunk] = []
        for index in 0..<count {
            let buffer = try await pool.take()
            try producer.produce(index, into: buffer)
            chunks.append(OutgoingChunk(index, in: buffer, of: producer, pool: pool))
        }
        return (chunks, pool)
    }

    /// Returns whether the pool has a free buffer at once.
    private static func hasMemory(_ pool: ChunkBufferPool) async throws -> Bool {
        let taking = Task { try await pool.take() }
        let limit = Task {
            try await Task.sleep(for: .milliseconds(50))
            taking.cancel()
        }
        defer { limit.cancel() }
        guard let buffer = try? await taking.value else { return false }
        pool.give(buffer)
        return true
    }

    @Test(arguments: 0..<8)
    func memoryIsReleasedAfterReadAndDigest(bits: Int) async throws {
        let (chunks, pool) = try await Self.made(1, of: MemorySource(bytes: Self.bytes), buffers: 1)
        let steps: [() -> Void] = [chunks[0].leaveEarly, chunks[0].wasRead, chunks[0].wasDigested]
        for (step, run) in steps.enumerated().reversed() where bits & 1 << step != 0 { run() }
        #expect(try await Self.hasMemory(pool) == (bits == 7))
        chunks[0].end()
        #expect(try await Self.hasMemory(pool))
        chunks[0].end()
        let second = Task { try await (pool.take(), pool.take()) }
        try await Task.sleep(for: .milliseconds(20))
        second.cancel()
        await #expect(throws: XFTPError.self, "given back once") { try await second.value }
    }

    @Test func chunkWithoutMemoryIsProducedAgain() async throws {
        let (chunks, pool) = try await Self.made(2, of: MemorySource(bytes: Self.bytes), buffers: 2)
        for chunk in chunks {
            let first = [UInt8](try await chunk.memory().bytes)
            #expect(try await chunk.digest() == SHA256.hash(first))
            chunk.leaveEarly()
            chunk.wasDigested()
            chunk.wasRead()
            let other = try await pool.take()
            other.storage.copyBytes(from: [UInt8](repeating: 7, count: other.capacity))
            pool.give(other)
            #expect([UInt8](try await chunk.memory().bytes) == first)
            #expect(chunk.count == first.count)
            chunk.end()
        }
    }

    @Test func lastChunkKeepsItsMemory() async throws {
        let (chunks, pool) = try await Self.made(1, of: MemorySource(bytes: someBytes(1000)), buffers: 1)
        chunks[0].leaveEarly()
        chunks[0].wasDigested()
        chunks[0].wasRead()
        #expect(try await !Self.hasMemory(pool))
        chunks[0].end()
    }

    /// A file that changes while it is sent.
    private final class ChangingSource: UploadSource {
        private let bytes: Lock<[UInt8]>
        let size: UInt64

        init(_ bytes: [UInt8]) {
            size = UInt64(bytes.count)
            self.bytes = Lock(bytes)
        }

        func change() { bytes.withLock { $0[100] ^= 1 } }

        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
            MemorySource(bytes: bytes.withLock { $0 }).read(into: buffer, at: offset)
        }
    }

    @Test func changedFileIsNotProducedAgain() async throws {
        let source = ChangingSource(Self.bytes)
        let (chunks, pool) = try await Self.made(1, of: source, buffers: 1)
        _ = try await chunks[0].digest()
        chunks[0].leaveEarly()
        chunks[0].wasDigested()
        chunks[0].wasRead()
        source.change()
        #expect(await code { _ = try await chunks[0].memory() } == .source)
        #expect(try await Self.hasMemory(pool), "its buffer was returned")
        chunks[0].end()
    }

    /// All chunks are produced again while memory for only one is free.
    @Test func repeatedChunksShareOneBuffer() async throws {
        let source = MemorySource(bytes: someBytes(30_000_000))
        let (chunks, pool) = try await Self.made(5, of: source, buffers: 5)
        for chunk in chunks {
            _ = try await chunk.digest()
            chunk.leaveEarly()
            chunk.wasDigested()
            chunk.wasRead()
        }
        // Other owners take four of the five buffers.
        for _ in 0..<4 { _ = try await pool.take() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for chunk in chunks {
                group.addTask {
                    let digest = try await chunk.digest()
                    let memory = try await chunk.memory()
                    #expect(SHA256.hash(UnsafeRawBufferPointer(memory.bytes)) == digest)
                    chunk.wasRead()
                }
            }
            try await group.waitForAll()
        }
    }

    /// A relay that accepts chunks and breaks the connection before its response, so that the client must retry.
    @Test func unconfirmedChunkIsUploadedAgain() async throws {
        let faults = Array(repeating: ScriptedRelay.Fault.takingUploadWithoutAnswer, count: 3)
        let relay = try ScriptedRelay(chunk: [], faults: faults)
        let client = XFTPClient.forTests()
        let (chunks, pool) = try await Self.made(2, of: MemorySource(bytes: Self.bytes), buffers: 2)
        for chunk in chunks {
            let digest = try await chunk.digest()
            chunk.leaveEarly()
            chunk.wasDigested()
            let counted = Lock(0)
            try await client.upload(chunk, to: [9], signedBy: .generate(), on: relay.address) { count in
                counted.withLock { $0 += count }
            }
            #expect(counted.withLock { $0 } == chunk.count, "failed attempts are subtracted")
            #expect(relay.brought.withLock { $0.last } == digest)
            #expect(try await Self.hasMemory(pool), "the memory was released early")
            chunk.end()
        }
        let brought = relay.brought.withLock { $0 }
        #expect(brought.count == 5)
        #expect(Set(brought).count == 2, "always the same bytes")
        await relay.stop()
    }
}
