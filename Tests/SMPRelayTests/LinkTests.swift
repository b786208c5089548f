import Base
import Cryptography
import SMP
import TestSupport
import Testing

@testable import SMPRelay

@Suite("Short links on a relay")
struct LinkTests {
    private static let data = LinkBlobs(fixed: [1, 2, 3], user: [4, 5])

    private static func make(
        _ client: RawClient, mode: QueueMode, linkID: [UInt8]?
    ) throws -> (ids: Answer.QueueIDs, key: CommandKey) {
        let correlationID = SystemRandomSource().bytes(24)
        let link = Command.NewLink(
            id: linkID, senderID: Command.senderID(of: correlationID), data: data)
        let made = try client.makeQueue(mode: mode, link: link, correlationID: correlationID)
        guard case .created(let ids) = made.answer else { throw WaitedInVain("a queue, not \(made.answer)") }
        #expect(ids.senderID == link.senderID)
        return (ids, .signing(made.key))
    }

    @Test("an invitation opens for one key, repeatedly")
    func invitation() async throws {
        let place = try RelayPlace()
        try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            let (ids, _) = try Self.make(client, mode: .messaging, linkID: nil)
            let linkID = try #require(ids.linkID)
            let (mine, other) = (SigningKey.generate(), SigningKey.generate())
            #expect(try client.ask(.linkGet, of: linkID) == .error(.authorization))
            let open = Command.linkKey(key: mine.publicKey)
            for _ in 0..<2 {
                #expect(
                    try client.ask(open, of: linkID, key: .signing(mine))
                        == .link(senderID: ids.senderID, data: Self.data))
            }
            #expect(
                try client.ask(.linkKey(key: other.publicKey), of: linkID, key: .signing(other))
                    == .error(.authorization))
            #expect(try client.ask(.text("hello"), of: ids.senderID, key: .signing(mine)) == .ok)
        }
        await place.stop()
    }

    @Test(
        "large answers to one block reach a slow reader"
    )
    func manyOpenings() async throws {
        let place = try RelayPlace()
        try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            let (linkID, correlationID) = ([UInt8](repeating: 5, count: 24), SystemRandomSource().bytes(24))
            let large = LinkBlobs(
                fixed: [UInt8](repeating: 1, count: 2048), user: [UInt8](repeating: 2, count: 13_824))
            let link = Command.NewLink(
                id: linkID, senderID: Command.senderID(of: correlationID), data: large)
            _ = try client.makeQueue(mode: .contact, link: link, correlationID: correlationID)
            let requests = (0..<255).map { number in
                Transmission(
                    correlationID: [UInt8](repeating: UInt8(number), count: 24), entityID: linkID,
                    body: Command.linkGet.encoded(version: 17)
                ).encoded(version: 17)
            }
            let answers = try RawClient.connected(to: place.relay.address).answers(to: requests)
            #expect(answers.count == 255)
            #expect(answers.allSatisfy { if case .link(_, large) = $0 { true } else { false } })
        }
        await place.stop()
    }

    @Test("an answer too long for a block becomes an error")
    func longAnswer() async throws {
        let place = try RelayPlace()
        try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            let (linkID, correlationID) = ([UInt8](repeating: 6, count: 24), SystemRandomSource().bytes(24))
            let large = LinkBlobs(
                fixed: [UInt8](repeating: 1, count: 2048), user: [UInt8](repeating: 2, count: 14_050))
            let link = Command.NewLink(
                id: linkID, senderID: Command.senderID(of: correlationID), data: large)
            _ = try client.makeQueue(mode: .contact, link: link, correlationID: correlationID)
            let request = Transmission(
                correlationID: [UInt8](repeating: 1, count: 255), entityID: linkID,
                body: Command.linkGet.encoded(version: 17))
            let ping = Transmission(
                correlationID: [UInt8](repeating: 2, count: 24), entityID: [], body: Array("PING".utf8))
            let answers = try RawClient.connected(to: place.relay.address).answers(
                to: [request, ping].map { $0.encoded(version: 17) })
            // The relay answers PING at once.
            #expect(Set(answers) == [.error(.internalError), .pong] && answers.count == 2)
        }
        await place.stop()
    }

    @Test(
        "an owner can change only the user data of a link")
    func address() async throws {
        let place = try RelayPlace()
        try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            let linkID = [UInt8](repeating: 3, count: 24)
            let (ids, key) = try Self.make(client, mode: .contact, linkID: linkID)
            #expect(ids.linkID == linkID)
            let changed = LinkBlobs(fixed: Self.data.fixed, user: [9, 9, 9])
            #expect(
                try client.ask(.linkSet(id: linkID, data: changed), of: ids.recipientID, key: key) == .ok)
            #expect(
                try client.ask(.linkGet, of: linkID) == .link(senderID: ids.senderID, data: changed))
            let other = LinkBlobs(fixed: [0], user: [9])
            #expect(
                try client.ask(.linkSet(id: linkID, data: other), of: ids.recipientID, key: key)
                    == .error(.authorization))
            #expect(try client.ask(.linkDelete, of: ids.recipientID, key: key) == .ok)
            #expect(try client.ask(.linkGet, of: linkID) == .error(.authorization))
            #expect(try client.ask(.text("hello"), of: ids.senderID) == .ok)
        }
        await place.stop()
    }

    @Test("link and sender ids cannot be chosen freely")
    func refusals() async throws {
        let place = try RelayPlace()
        try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            let linkID = [UInt8](repeating: 3, count: 24)
            _ = try Self.make(client, mode: .contact, linkID: linkID)
            let correlationID = SystemRandomSource().bytes(24)
            let again = Command.NewLink(
                id: linkID, senderID: Command.senderID(of: correlationID), data: Self.data)
            #expect(
                try client.makeQueue(mode: .contact, link: again, correlationID: correlationID).answer
                    == .error(.authorization))
            let chosen = Command.NewLink(
                id: [UInt8](repeating: 4, count: 24), senderID: [UInt8](repeating: 5, count: 24),
                data: Self.data)
            #expect(
                try client.makeQueue(mode: .contact, link: chosen).answer
                    == .error(.command(.prohibited)))
            // For a queue without link, the link of another queue.
            let queue = try client.queue(mode: .contact)
            #expect(
                try client.ask(
                    .linkSet(id: linkID, data: Self.data), of: queue.ids.recipientID, key: queue.key)
                    == .error(.authorization))
        }
        await place.stop()
    }
}
