import Base
import SMP
import TestSupport
import Testing

@testable import Agent

/// A profile with many connections, each with its own queue, over TLS and our relay.
@Suite("Many queues", .timeLimit(.minutes(10)))
struct ManyQueuesTests {
    private static let count = 200

    @Test("all queues deliver after start, relay restart, sleep")
    func allAreSubscribed() async throws {
        let relay = try RealRelay()
        let server = relay.server
        let latest = Lock<RealServers?>(nil)
        let reader = try await Person(
            MemoryRelay(),
            connections: (
                server,
                {
                    let servers = RealServers()
                    latest.withLock { $0 = servers }
                    return servers
                }
            ))
        let writer = try await RealServers.person(on: server)
        var toReader: [ConnectionID] = []
        for number in 0..<Self.count {
            let invited = try await reader.agent.invite(
                Invitation(
                    kind: .oneTime, server: server, information: bytes("\(number)"), linkData: nil))
            toReader.append(
                try await writer.agent.join(
                    link: invited.links.full.link, information: bytes("writer"), confirmation: []))
        }
        for person in [reader, writer] {
            await person.diary.wait { $0.count { $0.isConnected } == Self.count }
        }
        var written = 0
        /// Sends one more message over every connection.
        func check(_ occasion: String) async throws {
            try await wait(until: "all queues are subscribed \(occasion)", within: .seconds(60)) {
                reader.agent.subscribedQueues == Self.count
            }
            for connection in toReader {
                _ = try await writer.agent.send(
                    bytes(occasion), to: connection, notifies: true, identifier: nil)
            }
            written += Self.count
            await reader.diary.waitForBodies(written)
            #expect(await reader.diary.bodies().suffix(Self.count).allSatisfy { $0 == bytes(occasion) })
        }
        try await check("when they were made")

        try await reader.restart()
        try await check("after a start")

        try await relay.restart()
        try await check("after the relay restarted")

        latest.withLock { $0 }?.suspend()
        try await wait(until: "nothing is subscribed") { reader.agent.subscribedQueues == 0 }
        latest.withLock { $0 }?.resume()
        reader.agent.networkChanged()
        try await check("after a sleep")

        await reader.end()
        await writer.end()
        await relay.stop()
    }
}
