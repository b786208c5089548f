import Base
import TestSupport
import Testing

@testable import XFTP

@Suite("Closed clients")
struct ClosedClientTests {
    /// Tests the documented effect of `close` on active requests.
    @Test(
        "close retries active requests and cancels waiting ones"
    )
    func underWay() async throws {
        let chunk = someBytes(262_144)
        let relay = try ScriptedRelay(chunk: chunk, faults: [.freezing(after: 1000)])
        let client = XFTPClient.forTests {
            $0.connectionsPerRelay = 1
            $0.requestsPerConnection = 1
            $0.requestDeadline = .seconds(600)
        }
        let fetching = Task {
            let buffer = ChunkBuffer(capacity: chunk.count)
            try await client.fetch(relay.described(), into: buffer)
            return Array(buffer.bytes)
        }
        try await wait(until: "the download is active") { relay.requests.withLock { $0["download"] } == 1 }
        let waiting = Task { await code { try await client.ping(relay.address) } }
        // This one waits for the only allowed connection.
        try await Task.sleep(for: .milliseconds(50))
        client.close()
        #expect(try await fetching.value == chunk)
        #expect(relay.requests.withLock { $0["download"] } == 2)
        let outcome = await waiting.value
        #expect(outcome == .cancelled || outcome == nil, "nil: it was not waiting yet")
        try await client.ping(relay.address)
        client.close()
        client.close()
        try await client.ping(relay.address)
        #expect(client.relayCount == 1)
        await relay.stop()
    }

    @Test("cancelling the task before close ends the request")
    func cancelled() async throws {
        let chunk = someBytes(262_144)
        let relay = try ScriptedRelay(chunk: chunk, faults: [.freezing(after: 0)])
        let client = XFTPClient.forTests { $0.requestDeadline = .seconds(600) }
        let fetching = Task {
            await code {
                try await client.fetch(relay.described(), into: ChunkBuffer(capacity: chunk.count))
            }
        }
        try await wait(until: "the download is active") { relay.requests.withLock { $0["download"] } == 1 }
        fetching.cancel()
        client.close()
        #expect(await fetching.value == .cancelled)
        #expect(relay.requests.withLock { $0["download"] } == 1)
        await relay.stop()
    }

    @Test("a suspended client sends nothing and survives close")
    func suspended() async throws {
        let relay = try ScriptedRelay(chunk: [])
        let client = XFTPClient.forTests()
        client.suspend()
        let pinging = Task { try await client.ping(relay.address) }
        client.openAhead([relay.address], connections: 3)
        client.close()
        try await Task.sleep(for: .milliseconds(30))
        #expect(relay.connections.withLock { $0 } == 0)
        client.resume()
        try await pinging.value
        #expect(relay.connections.withLock { $0 } == 1)
        await relay.stop()
    }
}
