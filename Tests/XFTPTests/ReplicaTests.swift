import Base
import TestSupport
import Testing

@testable import XFTP

/// A chunk on two relays, one of them faulty. Without the other relay these fetches would take hours.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ReplicaTests {
    private static let chunk = someBytes(1 << 20)

    private static func client(timeout: Duration = .seconds(2)) -> XFTPClient {
        .forTests {
            $0.replicaTimeout = timeout
            $0.requestDeadline = .seconds(10_000)
        }
    }

    /// A chunk on these relays, in this order.
    private static func described(_ relays: [ScriptedRelay]) -> FileDescription.Chunk {
        var chunk = relays[0].described()
        chunk.replicas = relays.flatMap { $0.described().replicas }
        return chunk
    }

    private func downloads(_ relay: ScriptedRelay) -> Int { relay.requests.withLock { $0["download"] ?? 0 } }

    @Test(arguments: [0, 500_000])
    func frozenRelayIsSkippedThenAskedLast(after count: Int) async throws {
        let frozen = try ScriptedRelay(
            chunk: Self.chunk, faults: Array(repeating: .freezing(after: count), count: 10))
        let honest = try ScriptedRelay(chunk: Self.chunk)
        // Long enough that the honest relay never counts as frozen on a busy machine.
        let client = Self.client(timeout: .seconds(5))
        for _ in 0..<5 {
            let buffer = ChunkBuffer(capacity: Self.chunk.count)
            let counted = Lock(0)
            try await client.fetch(Self.described([frozen, honest]), into: buffer) { count in
                counted.withLock { $0 += count }
            }
            #expect(Array(buffer.bytes) == Self.chunk)
            #expect(counted.withLock { $0 } == Self.chunk.count, "failed attempts are subtracted")
        }
        #expect(downloads(frozen) == 1)
        #expect(downloads(honest) == 5)
        await frozen.stop()
        await honest.stop()
    }

    @Test func unreachableRelayIsAskedLastForAWhile() async throws {
        let gone = try ScriptedRelay(chunk: Self.chunk, faults: [.vanishingHalfWay])
        let honest = try ScriptedRelay(chunk: Self.chunk)
        let client = XFTPClient.forTests { $0.failureMemory = .seconds(3) }
        let chunk = Self.described([gone, honest])
        let buffer = ChunkBuffer(capacity: Self.chunk.count)
        for _ in 0..<3 { try await client.fetch(chunk, into: buffer) }
        #expect(downloads(gone) == 1)
        #expect(downloads(honest) == 3)
        // It is asked again after a while, and not before.
        try await wait(until: "it is asked again") {
            try await client.fetch(chunk, into: buffer)
            return downloads(gone) == 2
        }
        #expect(Array(buffer.bytes) == Self.chunk)
        await gone.stop()
        await honest.stop()
    }

    @Test func slowRelayIsNotReplacedForQueuedRequests() async throws {
        let slow = try ScriptedRelay(chunk: Self.chunk, faults: [.slow, .slow])
        let other = try ScriptedRelay(chunk: Self.chunk)
        // Each takes longer than the timeout; the second gets no byte before the first is complete.
        let client = XFTPClient.forTests {
            $0.replicaTimeout = .seconds(2)
            $0.connectionsPerRelay = 1
            $0.requestsPerConnection = 1
        }
        let chunk = Self.described([slow, other])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    let buffer = ChunkBuffer(capacity: Self.chunk.count)
                    try await client.fetch(chunk, into: buffer)
                    #expect(Array(buffer.bytes) == Self.chunk)
                }
            }
            try await group.waitForAll()
        }
        #expect(downloads(slow) == 2)
        #expect(other.connections.withLock { $0 } == 0)
        await slow.stop()
        await other.stop()
    }

    @Test func fastLyingRelayDoesNotWin() async throws {
        let late = try ScriptedRelay(chunk: Self.chunk, faults: [.freezing(after: 0)])
        let liar = try ScriptedRelay(chunk: Self.chunk, faults: Array(repeating: .otherChunk, count: 10))
        let buffer = ChunkBuffer(capacity: Self.chunk.count)
        try await Self.client().fetch(Self.described([late, liar]), into: buffer)
        #expect(Array(buffer.bytes) == Self.chunk)
        #expect(downloads(late) == 2)
        #expect(downloads(liar) == 1, "the lying relay is not asked again")
        await late.stop()
        await liar.stop()
    }

    @Test func cancellationEndsBothAndFreesTheBuffer() async throws {
        let relays = try (0..<2).map { _ in
            try ScriptedRelay(chunk: Self.chunk, faults: [.freezing(after: 0)])
        }
        let client = Self.client(timeout: .milliseconds(50))
        let buffer = ChunkBuffer(capacity: Self.chunk.count)
        let chunk = Self.described(relays)
        let fetching = Task { await code { try await client.fetch(chunk, into: buffer) } }
        try await wait(until: "both are asked") { relays.allSatisfy { downloads($0) == 1 } }
        fetching.cancel()
        #expect(await fetching.value == .cancelled)
        // No byte of the cancelled attempts reaches the next fetch.
        try await client.fetch(chunk, into: buffer)
        #expect(Array(buffer.bytes) == Self.chunk)
        for relay in relays { await relay.stop() }
    }
}
