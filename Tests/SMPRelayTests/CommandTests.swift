import Base
import Cryptography
import Network
import SMP
import TestSupport
import Testing

@testable import SMPRelay

@Suite("Relay commands")
struct CommandTests {
    @Test("an unusable host stops the start and leaves no files")
    func unwritableHost() throws {
        let folder = try TemporaryFolder()
        let settings = MessageRelaySettings(
            folder: folder.path("relay"), listen: Endpoint(host: "no host", port: 0),
            identity: try NewServerIdentity.make(.ed25519, hostName: "localhost").identity)
        let error = #expect(throws: MessageRelayError.self) { try MessageRelay.start(settings) }
        #expect(error?.code == .address && error?.sentence.contains("choose another --host") == true)
        #expect(try folder.names().isEmpty)
    }

    @Test("a secured queue accepts only its sender's signature")
    func securedBySender() async throws {
        let place = try RelayPlace()
        try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            let queue = try client.queue()
            let (mine, other) = (SigningKey.generate(), SigningKey.generate())
            let sender = queue.ids.senderID
            // Before securing, a signature is refused, because no key exists.
            #expect(try client.ask(.text("a"), of: sender, key: .signing(mine)) == .error(.authorization))
            #expect(try client.ask(.text("a"), of: sender) == .ok)
            let secure = Command.senderKey(key: mine.publicKey)
            #expect(try client.ask(secure, of: sender, key: .signing(mine)) == .ok)
            #expect(try client.ask(secure, of: sender, key: .signing(mine)) == .ok)
            #expect(
                try client.ask(.senderKey(key: other.publicKey), of: sender, key: .signing(other))
                    == .error(.authorization))
            #expect(try client.ask(.text("b"), of: sender) == .error(.authorization))
            #expect(try client.ask(.text("b"), of: sender, key: .signing(other)) == .error(.authorization))
            #expect(try client.ask(.text("b"), of: sender, key: .signing(mine)) == .ok)
            // The recipient may repeat the sender's key and set no other.
            let recipient = queue.ids.recipientID
            #expect(
                try client.ask(.secure(senderKey: mine.publicKey), of: recipient, key: queue.key) == .ok)
            #expect(
                try client.ask(.secure(senderKey: other.publicKey), of: recipient, key: queue.key)
                    == .error(.authorization))
        }
        await place.stop()
    }

    @Test("a contact address accepts messages of any sender")
    func contact() async throws {
        let place = try RelayPlace()
        try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            let queue = try client.queue(mode: .contact)
            let key = SigningKey.generate()
            #expect(
                try client.ask(
                    .senderKey(key: key.publicKey), of: queue.ids.senderID, key: .signing(key))
                    == .error(.authorization))
            #expect(try client.ask(.text("hello"), of: queue.ids.senderID) == .ok)
            #expect(try client.message().queue == queue.ids.recipientID)
        }
        await place.stop()
    }

    @Test("authenticators authorise like signatures")
    func authenticators() async throws {
        let place = try RelayPlace()
        try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            let (key, boxKey, senderKey) = (
                AgreementKey.generate(), AgreementKey.generate(), AgreementKey.generate()
            )
            let new = Command.NewQueue(
                recipientKey: key.publicKey, boxKey: boxKey.publicKey, mode: .messaging)
            guard case .created(let ids) = try client.ask(.new(new), key: .agreement(key)) else {
                throw WaitedInVain("a queue")
            }
            #expect(
                try client.ask(
                    .senderKey(key: senderKey.publicKey), of: ids.senderID, key: .agreement(senderKey))
                    == .ok)
            #expect(
                try client.ask(.text("hello"), of: ids.senderID, key: .agreement(boxKey))
                    == .error(.authorization))
            #expect(try client.ask(.text("hello"), of: ids.senderID, key: .agreement(senderKey)) == .ok)
            let message = try client.message()
            #expect(
                try client.ask(
                    .acknowledge(messageID: message.id), of: ids.recipientID, key: .agreement(key)) == .ok)
        }
        await place.stop()
    }

    @Test("suspended queues keep messages; deleted ones are gone")
    func endOfAQueue() async throws {
        let place = try RelayPlace()
        try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            let queue = try client.queue()
            let (recipient, sender) = (queue.ids.recipientID, queue.ids.senderID)
            #expect(try client.ask(.text("last words"), of: sender) == .ok)
            #expect(try client.ask(.suspend, of: recipient, key: queue.key) == .ok)
            #expect(try client.ask(.text("too late"), of: sender) == .error(.authorization))
            let information = try client.ask(.queueInformation, of: recipient, key: queue.key)
            #expect(
                information
                    == .information(Array(#"{"qiSnd":false,"qiNtf":false,"qiSize":1}"#.utf8)))
            let message = try client.message()
            #expect(
                try client.ask(.acknowledge(messageID: message.id), of: recipient, key: queue.key) == .ok)
            #expect(try client.ask(.delete, of: recipient, key: queue.key) == .ok)
            for command in [Command.subscribe, .delete, .suspend, .queueInformation] {
                #expect(try client.ask(command, of: recipient, key: queue.key) == .error(.authorization))
            }
            #expect(try client.ask(.text("hello?"), of: sender) == .error(.authorization))
        }
        await place.stop()
    }

    @Test("a foreign key gets the error of a missing queue")
    func strangers() async throws {
        let place = try RelayPlace()
        try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            let queue = try client.queue()
            for key in [CommandKey.signing(.generate()), .agreement(.generate())] {
                for command in [
                    Command.subscribe, .delete, .suspend, .queueInformation, .linkDelete,
                    .acknowledge(messageID: [1]), .secure(senderKey: key.publicKey),
                ] {
                    for id in [queue.ids.recipientID, queue.ids.senderID, [UInt8](repeating: 9, count: 24)] {
                        #expect(try client.ask(command, of: id, key: key) == .error(.authorization))
                    }
                }
            }
            #expect(try client.ask(.text("hello"), of: queue.ids.recipientID) == .error(.authorization))
        }
        await place.stop()
    }

    @Test("malformed and wrongly authorised commands get errors")
    func words() async throws {
        let place = try RelayPlace()
        try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            let queue = try client.queue()
            let id = queue.ids.recipientID
            #expect(try client.ask(.subscribe, of: id) == .error(.command(.noAuthorization)))
            #expect(try client.ask(.subscribe, key: queue.key) == .error(.command(.noEntity)))
            #expect(try client.ask(.text("to nobody")) == .error(.command(.noEntity)))
            #expect(try client.ask(.ping, key: queue.key) == .error(.command(.hasAuthorization)))
            #expect(
                try client.ask(.linkGet, of: id, key: queue.key) == .error(.command(.hasAuthorization)))
            #expect(
                try client.ask(
                    .send(flags: [], body: [UInt8](repeating: 1, count: 16_100)), of: queue.ids.senderID)
                    == .error(.largeMessage))
            let raw = try RawClient.connected(to: place.relay.address)
            for (word, refusal) in [
                ("NSUB", ServerError.Command.prohibited), ("ACK", .syntax), ("SUB ", .syntax),
                ("HELO", .unknown), ("", .unknown),
            ] {
                let transmission = Transmission(
                    correlationID: [], entityID: id, body: Array(word.utf8))
                #expect(
                    try raw.say([transmission.encoded(version: 17)]) == [.error(.command(refusal))],
                    "\(word)")
            }
            #expect(try raw.say([[255, 1]]) == [.error(.block)])
        }
        await place.stop()
    }

    @Test("creating a queue needs the password")
    func password() async throws {
        let place = try RelayPlace { $0.password = "s3cret" }
        try await blocking {
            let client = try RawClient.connected(to: place.relay.address)
            #expect(try client.makeQueue().answer == .error(.authorization))
            #expect(try client.makeQueue(password: "s3cre").answer == .error(.authorization))
            guard case .created = try client.makeQueue(password: "s3cret").answer else {
                throw WaitedInVain("a queue")
            }
        }
        await place.stop()
    }
}
