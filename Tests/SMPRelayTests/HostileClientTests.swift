import Base
import Cryptography
import Network
import Store
import TestSupport
import Testing

@testable import SMP
@testable import SMPRelay

@Suite("Hostile clients")
struct HostileClientTests {
    /// Sends one block instead of a hello. Returns whether the relay closes.
    private static func isRefused(_ place: RelayPlace, _ hello: @Sendable @escaping (RawClient) -> [UInt8])
        async throws -> Bool
    {
        try await blocking {
            let client = try RawClient(to: place.relay.address)
            _ = try client.block()
            try client.stream.send(hello(client))
            return client.hearsTheEnd()
        }
    }

    private static func hello(_ version: UInt16, _ identity: [UInt8]) -> [UInt8] {
        let hello = ClientHello(
            version: version, identity: identity, key: AgreementKey.generate().publicKey)
        return Padding.pad(hello.encoded, to: TransportBlock.size) ?? []
    }

    @Test("invalid hellos close the connection")
    func hellos() async throws {
        let place = try RelayPlace()
        let fingerprint = place.relay.address.fingerprint
        #expect(try await Self.isRefused(place) { _ in Self.hello(17, [UInt8](repeating: 1, count: 32)) })
        #expect(try await Self.isRefused(place) { _ in Self.hello(14, fingerprint) })
        #expect(try await Self.isRefused(place) { _ in Self.hello(18, fingerprint) })
        #expect(try await Self.isRefused(place) { _ in SystemRandomSource().bytes(TransportBlock.size) })
        await place.stop()
    }

    @Test("an unreadable block closes only its connection")
    func garbage() async throws {
        let place = try RelayPlace()
        try await blocking {
            let (hostile, other) = (
                try RawClient.connected(to: place.relay.address),
                try RawClient.connected(to: place.relay.address)
            )
            try hostile.stream.send(SystemRandomSource().bytes(TransportBlock.size))
            #expect(hostile.hearsTheEnd())
            #expect(try other.ask(.ping) == .pong)
        }
        await place.stop()
    }

    @Test("silent clients are closed")
    func silence() async throws {
        let place = try RelayPlace {
            $0.limits.handshake = .milliseconds(500)
            $0.limits.stranger = .milliseconds(500)
        }
        try await blocking {
            #expect(try RawClient(to: place.relay.address).hearsTheEnd())
            let stranger = try RawClient.connected(to: place.relay.address)
            #expect(try stranger.ask(.ping) == .pong)
            #expect(stranger.hearsTheEnd())
        }
        await place.stop()
    }

    @Test("the connection limit holds and recovers")
    func connections() async throws {
        let place = try RelayPlace { $0.limits.connections = 1 }
        try await blocking {
            let first = try RawClient.connected(to: place.relay.address)
            #expect((try? RawClient.connected(to: place.relay.address)) == nil)
            first.stream.shutDown()
        }
        try await wait(until: "there is room") { place.relay.connectionCount == 0 }
        try await blocking { _ = try RawClient.connected(to: place.relay.address) }
        await place.stop()
    }

    @Test("a disk error fails only its request")
    func failingDisk() async throws {
        let place = try RelayPlace()
        try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            let queue = try client.queue()
            #expect(try client.ask(.text("before"), of: queue.ids.senderID) == .ok)
            let beside = try Database(path: place.recordsPath, migrations: QueueRecords.migrations)
            try beside.transaction { try $0.executeScript("ALTER TABLE message RENAME TO elsewhere") }
            #expect(try client.ask(.text("lost"), of: queue.ids.senderID) == .error(.internalError))
            #expect(try client.ask(.ping) == .pong)
            try beside.transaction { try $0.executeScript("ALTER TABLE elsewhere RENAME TO message") }
            #expect(try client.ask(.text("after"), of: queue.ids.senderID) == .ok)
            let message = try client.message()
            #expect(
                try client.ask(
                    .acknowledge(messageID: message.id), of: queue.ids.recipientID, key: queue.key) == .ok)
            let information = try client.ask(
                .queueInformation, of: queue.ids.recipientID, key: queue.key)
            #expect(
                information
                    == .information(Array(#"{"qiSnd":false,"qiNtf":false,"qiSize":1}"#.utf8)))
        }
        await place.stop()
    }

    @Test("a folder belongs to one relay")
    func oneFolder() async throws {
        let place = try RelayPlace()
        #expect {
            try MessageRelay.start(
                MessageRelaySettings(
                    folder: place.folder.path("relay"),
                    identity: NewServerIdentity.make(.ed25519, hostName: "localhost").identity))
        } throws: {
            ($0 as? MessageRelayError)?.code == .inUse
        }
        await place.stop()
    }
}
