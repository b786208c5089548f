import Base
import Cryptography
import SMP
import TestSupport
import Testing

@testable import Agent

/// Links whose use failed, and unusable links.
@Suite(.timeLimit(.minutes(10))) struct LinkRepetitionTests {
    @Test(arguments: [true, false]) func failedLinkCanBeJoinedAgain(isShort: Bool) async throws {
        let relay = MemoryRelay()
        let inviter = try await Person(relay)
        let joiner = try await Person(relay, servers: [2])
        let invited = try await inviter.agent.invite(
            Invitation(
                kind: .oneTime, server: Known.server(), information: bytes("inviter"),
                linkData: isShort ? bytes("{}") : nil))
        let link = invited.links.short?.link ?? invited.links.full.link
        relay.setClosed([try Known.server(2)])
        let failed = try await joiner.agent.join(link: link, information: bytes("joiner"), confirmation: [])
        await joiner.diary.wait { $0.contains { $0.content == .connectionFailed(.refused) } }

        // With another own server. The link's queue has the key of the first attempt.
        joiner.agent.setServers([try Known.server(4)])
        let connection = try await joiner.agent.join(
            link: link, information: bytes("joiner"), confirmation: [])
        #expect(connection != failed)
        await joiner.diary.wait { $0.contains { $0.connection == connection && $0.isConnected } }
        await inviter.diary.wait { $0.contains { $0.isConnected } }
        let again = try await joiner.agent.join(link: link, information: [], confirmation: [])
        #expect(again == connection)
        try await joiner.agent.delete(failed, afterSending: false)
        await joiner.diary.wait { events in
            events.contains { $0.connection == failed && $0.content == .deleted }
        }
        _ = try await joiner.agent.send(bytes("here"), to: connection, notifies: false, identifier: nil)
        await inviter.diary.waitForBodies(1)
        await inviter.end()
        await joiner.end()
    }

    @Test func failedRequestCanBeAcceptedAgain() async throws {
        let relay = MemoryRelay()
        let owner = try await Person(relay)
        let guest = try await Person(relay, servers: [2])
        let address = try await owner.agent.invite(
            Invitation(kind: .address, server: Known.server(), linkData: nil))
        _ = try await guest.agent.join(
            link: address.links.full.link, information: bytes("may I?"), confirmation: [])
        let request = await owner.diary.first { $0.request }
        relay.setClosed([try Known.server(1)])
        let failed = try await owner.agent.accept(request.id, information: bytes("welcome"))
        await owner.diary.wait { $0.contains { $0.content == .connectionFailed(.refused) } }
        relay.setClosed([])
        let connection = try await owner.agent.accept(request.id, information: bytes("welcome"))
        #expect(connection != failed)
        await guest.diary.wait { $0.contains { $0.isConnected } }
        await owner.diary.wait { $0.contains { $0.connection == connection && $0.isConnected } }
        await owner.end()
        await guest.end()
    }

    @Test func smallOrderKeysAreRejectedWithError() async throws {
        let person = try await Person(MemoryRelay())
        let invited = try await person.agent.invite(
            Invitation(kind: .oneTime, server: Known.server(), linkData: nil))
        let address = try await person.agent.invite(
            Invitation(kind: .address, server: Known.server(), linkData: nil))
        var requests: [ConnectionRequest] = []
        for request in [invited.links.full, address.links.full] {
            let old = request.queues[0].address
            // The neutral point: it gives the shared secret zero.
            let key = Array(old.key.dropLast(32)) + [UInt8](repeating: 0, count: 32)
            var bad = request
            bad.queues[0].address = try #require(
                QueueAddress(server: old.server, senderID: old.senderID, key: key, mode: old.mode))
            requests.append(bad)
        }
        guard case .invitation(var offer) = invited.links.full.kind else { return }
        offer.second = try #require(X448PublicKey(rawValue: [UInt8](repeating: 0, count: 56)))
        var bad = invited.links.full
        bad.kind = .invitation(offer)
        requests.append(bad)
        for request in requests {
            await #expect {
                try await person.agent.join(link: request.link, information: [], confirmation: [])
            } throws: {
                ($0 as? AgentError)?.code == .unusableLink
            }
        }
        #expect(try await person.agent.connections().count == 2)
        await person.end()
    }
}
