import Base
import TestSupport
import Testing
import XFTPRelay

@testable import XFTP

/// The relays that a client remembers.
@Suite struct RelayTableTests {
    @Test func unusedRelaysAreForgotten() async throws {
        let relays = [try LocalRelay(), try LocalRelay(), try LocalRelay { $0.password = "s3cret" }]
        let client = XFTPClient.forTests()
        for _ in 0..<2 {
            for relay in relays { try await client.ping(relay.address) }
            // The password does not make it another relay.
            try await client.ping(relays[2].address(password: "s3cret"))
            client.openAhead([relays[0].address], connections: 3)
            #expect(client.relayCount <= 3)
            try await wait(until: "all relays are forgotten") { client.relayCount == 0 }
        }
        for relay in relays { await relay.relay.stop() }
    }

    @Test func unreachableRelaysAreForgotten() async throws {
        let relay = try LocalRelay()
        await relay.relay.stop()
        let client = XFTPClient.forTests { $0.retry.tries = 1 }
        #expect(await code { try await client.ping(relay.address) } != nil)
        try await wait(until: "the relay is forgotten") { client.relayCount == 0 }
    }

    @Test func idleConnectionsAreNotReused() async throws {
        let relay = try ScriptedRelay(chunk: someBytes(65_536))
        let client = XFTPClient.forTests { $0.idleTime = .seconds(1) }
        let fetch = { try await client.fetch(relay.described(), into: ChunkBuffer(capacity: 65_536)) }
        try await fetch()
        // Idle connections are closed once a second: this is just before one pass and just after the next.
        try await Task.sleep(for: .milliseconds(950))
        try await fetch()
        try await Task.sleep(for: .milliseconds(1020))
        let before = relay.connections.withLock { $0 }
        try await fetch()
        #expect(relay.connections.withLock { $0 } == before + 1)
        await relay.stop()
    }

    @Test func relaysInUseAreKept() async throws {
        let chunk = someBytes(65_536)
        let relay = try ScriptedRelay(chunk: chunk, faults: Array(repeating: .stalling, count: 5))
        let other = try LocalRelay()
        let client = XFTPClient.forTests { $0.idleTime = .milliseconds(10) }
        let fetching = Task {
            await code { try await client.fetch(relay.described(), into: ChunkBuffer(capacity: chunk.count)) }
        }
        try await wait(until: "the chunk was requested") { relay.connections.withLock { $0 } == 1 }
        // Another relay is used meanwhile.
        try await client.ping(other.address)
        try await wait(until: "only the relay in use remains") { client.relayCount == 1 }
        for _ in 0..<5 { try await client.ping(other.address) }
        try await wait(until: "only the relay in use remains") { client.relayCount == 1 }
        fetching.cancel()
        #expect(await fetching.value == .cancelled)
        try await wait(until: "that relay is forgotten too") { client.relayCount == 0 }
        await relay.stop()
        await other.relay.stop()
    }
}
