import Base
import SMP
import TestSupport
import Testing

@testable import Agent

/// Two agents over TLS and our relay, which restarts meanwhile.
@Suite(.timeLimit(.minutes(10))) struct RealRelayTests {
    @Test func messagesSurviveRelayRestart() async throws {
        let relay = try RealRelay()
        let (one, other) = (
            try await RealServers.person(on: relay.server), try await RealServers.person(on: relay.server)
        )
        let invited = try await one.agent.invite(
            Invitation(
                kind: .oneTime, server: relay.server, information: bytes("one"), linkData: bytes("{}")))
        let link = try #require(invited.links.short).link
        let connection = try await other.agent.join(link: link, information: bytes("other"), confirmation: [])
        await one.diary.wait { $0.contains { $0.isConnected } }
        await other.diary.wait { $0.contains { $0.isConnected } }
        for number in 0..<150 {
            _ = try await one.agent.send(
                bytes("\(number)"), to: invited.connection, notifies: true, identifier: nil)
            _ = try await other.agent.send(
                bytes("\(number)"), to: connection, notifies: true, identifier: nil)
            if number == 50 { try await relay.restart() }
            if number == 100 { try await other.restart() }
        }
        for person in [one, other] {
            await person.diary.waitForBodies(150)
            #expect(await person.diary.bodies() == (0..<150).map { bytes("\($0)") })
        }
        await one.end()
        await other.end()
        await relay.stop()
    }
}
