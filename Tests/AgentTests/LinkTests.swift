import Base
import SMP
import TestSupport
import Testing

@testable import Agent

@Suite(.timeLimit(.minutes(10))) struct LinkTests {
    @Test func shortLinkCanBeOpenedThenJoined() async throws {
        let relay = MemoryRelay()
        let inviter = try await Person(relay)
        let joiner = try await Person(relay, servers: [2])
        let invited = try await inviter.agent.invite(
            Invitation(
                kind: .oneTime, server: Known.server(), information: bytes("inviter"),
                linkData: bytes("{\"profile\":{}}")))
        let link = try #require(invited.links.short).link
        let opened = try await joiner.agent.open(link: link)
        #expect(opened.kind == .oneTime && opened.linkData == bytes("{\"profile\":{}}"))
        #expect(opened.connection == nil)
        // In a later process, with the key that opened the link.
        try await joiner.restart()
        let connection = try await joiner.agent.join(
            link: link, information: bytes("joiner"), confirmation: [])
        await inviter.diary.wait { $0.contains { $0.isConnected } }
        await joiner.diary.wait { $0.contains { $0.isConnected } }
        // Opening secured the link's queue; the inviter secured the other one.
        #expect(relay.count("SKEY") == 1)
        let again = try await joiner.agent.join(link: link, information: [], confirmation: [])
        #expect(again == connection)
        await inviter.end()
        await joiner.end()
    }

    @Test func usedLinkIsGone() async throws {
        let relay = MemoryRelay()
        let couple = try await Couple(relay)
        let late = try await Person(relay, servers: [4])
        let second = try await couple.inviter.agent.invite(
            Invitation(kind: .oneTime, server: Known.server(), linkData: bytes("x")))
        let short = try #require(second.links.short).link
        _ = try await couple.joiner.agent.open(link: short)
        await #expect(throws: AgentError.self) { try await late.agent.open(link: short) }

        // With a full link, joining discovers this only at `SKEY`.
        let connection = try await late.agent.join(
            link: second.links.full.link, information: bytes("late"), confirmation: [])
        let number = try await late.agent.send(bytes("?"), to: connection, notifies: false, identifier: nil)
        await late.diary.wait { events in
            events.contains { $0.content == .connectionFailed(.linkGone) }
                && events.contains { $0.content == .messageFailed(message: number, .linkGone) }
        }
        // The failed attempt leaves no trace.
        let queues = relay.queueCount
        try await wait(until: "its queue is deleted") {
            relay.queueCount <= queues && relay.count("DEL") == 1
        }
        try await late.agent.delete(connection, afterSending: false)
        await late.diary.wait { $0.contains { $0.content == .deleted } }
        await couple.end()
        await late.end()
    }

    @Test func addressRequestsCanBeAcceptedOrRejected() async throws {
        let relay = MemoryRelay()
        let owner = try await Person(relay)
        let (guest, stranger) = (try await Person(relay, servers: [2]), try await Person(relay, servers: [3]))
        let address = try await owner.agent.invite(
            Invitation(kind: .address, server: Known.server(), linkData: bytes("first")))
        try await owner.agent.setLinkData(bytes("second"), of: address.connection)
        let link = try #require(address.links.short).link
        #expect(try await guest.agent.open(link: link).linkData == bytes("second"))

        let asked = try await guest.agent.join(
            link: link, information: bytes("may I?"), confirmation: bytes("thank you"))
        let request = await owner.diary.first { $0.request }
        #expect(request.information == bytes("may I?"))
        // Messages sent before acceptance wait.
        let early = try await guest.agent.send(bytes("early"), to: asked, notifies: true, identifier: nil)
        let connection = try await owner.agent.accept(request.id, information: bytes("welcome"))
        #expect(try await owner.agent.accept(request.id, information: []) == connection)
        await guest.diary.wait { events in
            events.contains { $0.content == .connecting(information: bytes("welcome")) }
                && events.contains { $0.isConnected }
                && events.contains { $0.content == .sent(message: early) }
        }
        await owner.diary.waitForBodies(1)
        #expect(await owner.diary.bodies(of: connection) == [bytes("early")])
        #expect(
            await owner.diary.events.contains { $0.content == .connected(information: bytes("thank you")) })

        _ = try await stranger.agent.join(
            link: address.links.full.link, information: bytes("and I?"), confirmation: [])
        await owner.diary.wait { $0.contains { $0.request?.information == bytes("and I?") } }
        let other = await owner.diary.events.compactMap { $0.request }.last
        try await owner.agent.reject(#require(other?.id))
        await #expect(throws: AgentError.self) {
            try await owner.agent.accept(#require(other?.id), information: [])
        }

        // The owner keeps its contacts without the address.
        try await owner.agent.delete(address.connection, afterSending: false)
        await owner.diary.wait { events in
            events.contains { $0.connection == address.connection && $0.content == .deleted }
        }
        await #expect(throws: AgentError.self) { try await stranger.agent.open(link: link) }
        _ = try await owner.agent.send(bytes("still here"), to: connection, notifies: true, identifier: nil)
        await guest.diary.waitForBodies(1)
        for person in [owner, guest, stranger] { await person.end() }
    }

    @Test func linksOfOldVersionsAreRejectedWithError() async throws {
        let person = try await Person(MemoryRelay())
        let invited = try await person.agent.invite(
            Invitation(kind: .oneTime, server: Known.server(), linkData: nil))
        var old = invited.links.full
        old.queues[0].address.mode = .contact
        await #expect {
            try await person.agent.join(link: old.link, information: [], confirmation: [])
        } throws: {
            ($0 as? AgentError)?.code == .unusableLink
        }
        await #expect {
            try await person.agent.join(link: "simplex:/x", information: [], confirmation: [])
        } throws: {
            ($0 as? AgentError)?.code == .unusableLink
        }
        await person.end()
    }

    @Test func unreachableServerFailsInvitationWithoutTrace() async throws {
        let relay = MemoryRelay()
        let person = try await Person(relay)
        relay.setUnreachable([try Known.server()])
        await #expect {
            try await person.agent.invite(
                Invitation(kind: .oneTime, server: Known.server(), linkData: nil))
        } throws: {
            ($0 as? AgentError)?.code == .serverUnreachable
        }
        #expect(try await person.agent.connections().isEmpty)
        await person.end()
    }
}
