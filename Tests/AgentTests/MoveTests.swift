import Base
import Cryptography
import SMP
import TestSupport
import Testing

@testable import Agent

/// Moving queues off a messaging server to another configured one.
@Suite(.timeLimit(.minutes(10))) struct MoveTests {
    /// Sends a message in each direction and waits for both.
    private static func converse(_ couple: Couple, _ text: String) async throws {
        let before = await (couple.inviter.diary.bodies().count, couple.joiner.diary.bodies().count)
        _ = try await couple.inviter.untilItWorks {
            try await $0.send(
                bytes("\(text) 1"), to: couple.toJoiner, notifies: false, identifier: bytes("\(text) 1"))
        }
        _ = try await couple.joiner.untilItWorks {
            try await $0.send(
                bytes("\(text) 2"), to: couple.toInviter, notifies: false, identifier: bytes("\(text) 2"))
        }
        await couple.inviter.diary.waitForBodies(before.0 + 1)
        await couple.joiner.diary.waitForBodies(before.1 + 1)
        #expect(await couple.inviter.diary.bodies().last == bytes("\(text) 2"))
        #expect(await couple.joiner.diary.bodies().last == bytes("\(text) 1"))
    }

    private static func hasMoved(_ person: Person, times: Int = 1) async {
        await person.diary.wait { events in
            let conditions = events.compactMap(\.condition)
            var moves = 0
            for (before, after) in zip(conditions, conditions.dropFirst())
            where before.isRotating && !after.isRotating { moves += 1 }
            return moves >= times
        }
    }

    private static func servers(_ person: Person) async throws -> [ServerAddress] {
        try await person.agent.connections().flatMap(\.servers)
    }

    // MARK: - Choice of the server

    /// The same server with another host name, or with a password.
    private static func namesake(of number: UInt8) throws -> ServerAddress {
        try #require(
            ServerAddress(
                fingerprint: Known.server(number).fingerprint, hosts: ["elsewhere.example.org"], port: 5223,
                password: "secret"))
    }

    @Test func moveTakesFirstOtherServer() throws {
        let table: [(servers: [ServerAddress], taken: UInt8?)] = [
            ([], nil), ([try Known.server(1)], nil), ([try Self.namesake(of: 1)], nil),
            ([try Known.server(1), try Self.namesake(of: 1)], nil),
            ([try Known.server(3)], 3), ([try Known.server(1), try Known.server(3)], 3),
            ([try Known.server(4), try Known.server(3)], 4),
            ([try Self.namesake(of: 1), try Known.server(5), try Known.server(1), try Known.server(3)], 5),
        ]
        for (servers, taken) in table {
            var pair = try MachinePair.connected()
            guard let taken else {
                let before = pair.inviter.state.receiving
                let error = #expect(throws: AgentError.self) {
                    try pair.inviter.step { try $0.move(toOneOf: servers) }
                }
                #expect(error?.code == .notPossible)
                #expect(error?.sentence.contains("no other messaging server") == true)
                #expect(pair.inviter.state.receiving == before && !pair.inviter.condition.isRotating)
                continue
            }
            try pair.inviter.step { try $0.move(toOneOf: servers) }
            #expect(pair.inviter.condition.isRotating)
            try pair.exchange()
            #expect(try pair.inviter.state.receiving.map(\.server) == [Known.server(taken)])
            try pair.converse("on server \(taken)")
        }
    }

    @Test func moveUnderWayKeepsTarget() throws {
        var pair = try MachinePair.connected()
        try pair.inviter.step { try $0.move(toOneOf: [Known.server(3)]) }
        let effects = try pair.inviter.step { try $0.move(toOneOf: [Known.server(4)]) }
        #expect(effects.isEmpty)
        try pair.exchange()
        #expect(try pair.inviter.state.receiving.map(\.server) == [Known.server(3)])
        // From there it can be moved on, and back.
        for number: UInt8 in [4, 1, 3] {
            try pair.inviter.step { try $0.move(toOneOf: [Known.server(number)]) }
            try pair.exchange()
            #expect(try pair.inviter.state.receiving.map(\.server) == [Known.server(number)])
        }
        try pair.converse("at last")
    }

    @Test func onlyEstablishedConnectionIsMoved() throws {
        var pair = try MachinePair()
        for side in [pair.inviter, pair.joiner] {
            var side = side
            // The first error does not depend on the servers.
            for servers in [[], [try Known.server(3)]] {
                let error = #expect(throws: AgentError.self) {
                    try side.step { try $0.move(toOneOf: servers) }
                }
                #expect(error?.code == .notPossible)
                #expect(error?.sentence == "Only an established connection can be moved to another server.")
            }
        }
        try pair.exchange()
        var ended = pair
        ended.inviter.change { $0.state.sending[0].isGone = true }
        let gone = #expect(throws: AgentError.self) {
            try ended.inviter.step { try $0.move(toOneOf: [Known.server(3)]) }
        }
        #expect(gone?.code == .ended && ended.inviter.state.receiving.count == 1)
        pair.inviter.change { $0.state.receiving[0].status = .suspending }
        let damaged = #expect(throws: AgentError.self) {
            try pair.inviter.step { try $0.move(toOneOf: [Known.server(3)]) }
        }
        #expect(damaged?.code == .damaged)
    }

    // MARK: - With agents

    @Test func bothSidesMoveWhileSending() async throws {
        let relay = MemoryRelay()
        let couple = try await Couple(relay)
        relay.setChaos(.init(losesRequests: 40, losesAnswers: 40, repeats: 20, delays: 4))
        try await couple.inviter.untilItWorks {
            try await $0.move(couple.toJoiner, toOneOf: couple.inviter.settings.servers)
        }
        try await couple.joiner.untilItWorks {
            try await $0.move(couple.toInviter, toOneOf: couple.joiner.settings.servers)
        }
        for number in 0..<8 { try await Self.converse(couple, "\(number)") }
        await Self.hasMoved(couple.inviter)
        await Self.hasMoved(couple.joiner)
        relay.setChaos(.none)
        for person in [couple.inviter, couple.joiner] {
            #expect(await person.diary.integrities.allSatisfy { $0 == .complete })
            #expect(await person.diary.bodies().count == 8)
        }
        #expect(try await Self.servers(couple.inviter) == [Known.server(3)])
        let present = try await Self.servers(couple.joiner)
        // It chose one of its two servers when it joined.
        let wanted = try await couple.joiner.agent.stored { try $0.connections.load(couple.toInviter) }
        #expect(present == wanted.receiving.filter { $0.status == .active }.map(\.server))
        #expect(present.count == 1 && couple.joiner.settings.servers.contains(present[0]))
        try await Self.converse(couple, "at last")
        await couple.end()
    }

    @Test func moveCompletesAfterServerOutage() async throws {
        let relay = MemoryRelay()
        let couple = try await Couple(relay)
        try await Self.converse(couple, "before")
        relay.setUnreachable([try Known.server(1)])
        let created = relay.count("NEW")
        try await couple.inviter.agent.move(couple.toJoiner, toOneOf: [Known.server(3)])
        // The contact learns of the move, and replies to the unreachable queue.
        let text = try await couple.joiner.agent.send(
            bytes("meanwhile"), to: couple.toInviter, notifies: false, identifier: nil)
        try await wait(until: "the new queue is made") { relay.count("NEW") > created }
        #expect(try await Self.servers(couple.inviter).contains(Known.server(1)))
        let unsent = AgentEvent.Content.sent(message: text)
        #expect(await !couple.joiner.diary.events.contains { $0.content == unsent })
        // In the next process too.
        try await couple.inviter.restart()
        relay.setUnreachable([])
        await couple.inviter.diary.waitForBodies(2)
        await Self.hasMoved(couple.inviter)
        #expect(await couple.inviter.diary.bodies().last == bytes("meanwhile"))
        try await wait(until: "the old queue is gone") {
            try await Self.servers(couple.inviter) == [Known.server(3)]
        }
        relay.setUnreachable([try Known.server(1)])
        try await Self.converse(couple, "without it")
        await couple.end()
    }

    @Test func moveKeepsSecurityCodeAndMessages() async throws {
        let couple = try await Couple(MemoryRelay())
        let code = try await couple.inviter.agent.security(of: couple.toJoiner)?.code
        for (times, number) in ([3, 1, 4] as [UInt8]).enumerated() {
            try await couple.inviter.agent.move(couple.toJoiner, toOneOf: [Known.server(number)])
            try await Self.converse(couple, "\(number)")
            await Self.hasMoved(couple.inviter, times: times + 1)
        }
        #expect(try await couple.inviter.agent.security(of: couple.toJoiner)?.code == code)
        #expect(try await couple.joiner.agent.security(of: couple.toInviter)?.code == code)
        #expect(await couple.inviter.diary.bodies().count == 3)
        let error = await #expect(throws: AgentError.self) {
            try await couple.inviter.agent.move(ConnectionID(99), toOneOf: [Known.server(3)])
        }
        #expect(error?.code == .noSuchConnection)
        await couple.end()
        let stopped = await #expect(throws: AgentError.self) {
            try await couple.inviter.agent.move(couple.toJoiner, toOneOf: [Known.server(3)])
        }
        #expect(stopped?.code == .stopped)
    }
}
