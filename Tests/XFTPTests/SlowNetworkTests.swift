import Base
import TestSupport
import Testing

@testable import XFTP

@Suite struct SlowNetworkTests {
    @Test func concurrentRequestsFollowTheRelaysSpeed() async throws {
        let chunk = someBytes(65_536)
        let relay = try ScriptedRelay(chunk: chunk, faults: [.stalling])
        let client = XFTPClient.forTests {
            // The relay must count as near on a busy machine, because a far one gets all requests at once.
            $0.fetching.farAfter = .seconds(60)
            $0.requestDeadline = .seconds(2)
            $0.deadlinePerKiB = .zero
            $0.connectionsPerRelay = 1
            $0.requestsPerConnection = 2
            $0.idleTime = .seconds(60)
        }
        let buffer = ChunkBuffer(capacity: chunk.count)
        try await client.fetch(relay.described(), into: buffer)
        #expect(client.requestsAllowed(at: relay.address) == 1)
        for _ in 0..<2 { try await client.fetch(relay.described(), into: buffer) }
        #expect(client.requestsAllowed(at: relay.address) == 2)
        for _ in 0..<9 { try await client.fetch(relay.described(), into: buffer) }
        #expect(client.requestsAllowed(at: relay.address) == 2, "never more than the settings say")
        await relay.stop()
    }
}
