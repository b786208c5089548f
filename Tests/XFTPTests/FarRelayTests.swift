import TestSupport
import Testing

@testable import XFTP

/// Far relays get more connections, more requests and, for uploads, more buffers.
@Suite struct FarRelayTests {
    @Test func shortestRoundTripIsTheDistance() {
        let health = RelayHealth(memory: .seconds(1))
        #expect(health.roundTrip(above: .zero) == nil, "nothing is known of it")
        health.answered(after: .milliseconds(80))
        #expect(health.roundTrip(above: .milliseconds(20)) == .milliseconds(80))
        health.answered(after: .milliseconds(2))
        health.answered(after: .milliseconds(80))
        #expect(health.roundTrip(above: .milliseconds(20)) == nil)
    }

    @Test(arguments: [(Duration.zero, 3...8), (.seconds(60), 1...2)])
    func farRelayGetsOneConnectionPerRequest(
        farAfter: Duration, connections: ClosedRange<Int>
    ) async throws {
        let chunk = someBytes(65_536)
        let relay = try ScriptedRelay(chunk: chunk, faults: Array(repeating: .slow, count: 8))
        let client = XFTPClient.forTests {
            $0.fetching.farAfter = farAfter
            $0.connectionsPerRelay = 2
            $0.requestsPerConnection = 2
            $0.idleTime = .seconds(60)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await client.fetch(relay.described(), into: ChunkBuffer(capacity: chunk.count))
                }
            }
            try await group.waitForAll()
        }
        #expect(connections ~= relay.connections.withLock { $0 })
        #expect((client.farRoundTrip(relay.address) != nil) == (farAfter == .zero))
        await relay.stop()
    }

    @Test(arguments: [Duration.zero, .seconds(60)])
    func farRelayGetsAllRequestsAtOnce(farAfter: Duration) async throws {
        let chunk = someBytes(65_536)
        let relay = try ScriptedRelay(chunk: chunk, faults: [])
        let client = XFTPClient.forTests {
            $0.fetching.farAfter = farAfter
            $0.connectionsPerRelay = 2
            $0.connectionsPerFarRelay = 5
            $0.requestsPerConnection = 2
        }
        for _ in 0..<3 {
            try await client.fetch(relay.described(), into: ChunkBuffer(capacity: chunk.count))
        }
        #expect(client.requestsAllowed(at: relay.address) == (farAfter == .zero ? 10 : 4))
        await relay.stop()
    }

    @Test func bufferPoolGrows() async throws {
        let pool = ChunkBufferPool(count: 1, capacity: 65_536)
        let first = try await pool.take()
        pool.grow(by: 1)
        let second = try await pool.take()
        #expect(first !== second)
        let third = Task { try await pool.take() }
        third.cancel()
        await #expect(throws: XFTPError.self) { try await third.value }
    }
}
