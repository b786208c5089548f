import Base
import Glibc
import SMP
import TestSupport
import Testing

@testable import Agent

/// A profile with many connections, each with its own queue, over TLS and a relay process.
@Suite("Many queues", .timeLimit(.minutes(10)))
struct ManyQueuesTests {
    private static let count = 200

    private func start(_ folder: TemporaryFolder) async throws -> (
        process: RunningProcess, server: ServerAddress
    ) {
        let process = try await ChatFSProcess.start(["relay", "--dir", folder.path("relay")])
        let line = try await wait(for: "the address for messages") {
            process.lines.first { $0.hasPrefix("smp://") }
        }
        return (process, try #require(ServerAddress(line)))
    }

    @Test("all queues deliver after start, relay kill, sleep")
    func allAreSubscribed() async throws {
        let folder = try TemporaryFolder()
        let (first, server) = try await start(folder)
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

        first.send(SIGKILL)
        _ = try await first.ending()
        let (second, again) = try await start(folder)
        #expect(again == server)
        try await check("after the relay was killed")

        latest.withLock { $0 }?.suspend()
        try await wait(until: "nothing is subscribed") { reader.agent.subscribedQueues == 0 }
        latest.withLock { $0 }?.resume()
        reader.agent.networkChanged()
        try await check("after a sleep")

        await reader.end()
        await writer.end()
        try await second.terminate()
    }
}
