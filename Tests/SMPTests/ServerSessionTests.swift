import Base
import TestSupport
import Testing

@testable import Cryptography
@testable import SMP

/// The server's session with a client's session on the other side.
@Suite("A server's side of a connection")
struct ServerSessionTests {
    @Test("commands survive a round trip in every version", arguments: SMPVersion.servers)
    func commands(version: UInt16) throws {
        var conversation = try Conversation(versions: version...version)
        #expect(conversation.server.version == version && conversation.client.version == version)
        let key = CommandKey.signing(try Known.signing(5))
        for command in try Command.all() {
            _ = try conversation.client.submit(
                ClientRequest(command, of: Known.recipientID, key: key), now: Conversation.start)
            let received = try conversation.received()
            #expect(received.map { $0.command } == [.success(command)])
            let transmission = try #require(received.first?.transmission)
            #expect(transmission.entityID == Known.recipientID && transmission.correlationID.count == 24)
            #expect(conversation.server.authority.isAuthorized(transmission, by: key.publicKey))
        }
    }

    @Test("answers reach their requests, and others become events", arguments: SMPVersion.servers)
    func answers(version: UInt16) throws {
        var conversation = try Conversation(versions: version...version)
        for answer in try Answer.all() {
            let id = try conversation.client.submit(
                ClientRequest(.ping, of: Known.recipientID), now: Conversation.start)
            let asked = try #require(try conversation.received().first?.transmission)
            conversation.server.submit(
                answer, correlationID: asked.correlationID, entityID: asked.entityID)
            let events = conversation.events()
            switch answer {
            case .pong, .error: #expect(events == [.answered(id, answer)])
            default: #expect(events == [.failed(id, .malformed)], "\(answer)")
            }
            conversation.server.submit(answer, correlationID: [], entityID: Known.recipientID)
            switch answer {
            case .message(let message, let body):
                #expect(
                    conversation.events() == [
                        .delivered(recipientID: Known.recipientID, messageID: message, body: body)
                    ])
            case .end: #expect(conversation.events() == [.ended(recipientID: Known.recipientID)])
            case .deleted: #expect(conversation.events() == [.deleted(recipientID: Known.recipientID)])
            case .error(let error): #expect(conversation.events() == [.complaint(error)])
            default: #expect(conversation.events().isEmpty)
            }
        }
    }

    @Test("a wrong hello ends the connection silently")
    func hellos() throws {
        let key = try Known.agreement(4)
        func read(_ block: [UInt8]) throws -> ServerSession {
            try ServerSession(
                hello: block, sessionID: Known.sessionID, fingerprint: Known.fingerprint, key: key)
        }
        let client = ClientHello(
            version: 17, identity: Known.fingerprint, key: try Known.agreement(3).publicKey)
        func block(_ hello: ClientHello) throws -> [UInt8] {
            try #require(Padding.pad(hello.encoded, to: TransportBlock.size))
        }
        let good = try block(client)
        #expect(try read(good).version == 17)
        for wrong in [[], Array(good.dropLast()), good + [0], [UInt8](repeating: 0xff, count: good.count)] {
            expect(.malformed) { try read(wrong) }
        }
        for version in [UInt16(0), 14, 18, .max] {
            var other = client
            other.version = version
            expect(.malformed) { try read(block(other)) }
        }
        var other = client
        other.identity[31] ^= 1
        expect(.wrongIdentity) { try read(block(other)) }
        other.identity = []
        expect(.malformed) { try read(block(other)) }
        // A key of small order makes the secret public; one of another kind makes none.
        other = client
        other.key = KeyForm.x25519Public.encode([UInt8](repeating: 0, count: 32))
        expect(.malformed) { try read(block(other)) }
        other.key = try Known.signing(1).publicKey
        expect(.malformed) { try read(block(other)) }
    }

    @Test("blocks are encrypted for clients, not for proxies")
    func proxies() throws {
        let key = try Known.agreement(4)
        let hello = ClientHello(
            version: 16, identity: Known.fingerprint, key: try Known.agreement(3).publicKey, isProxy: true)
        var server = try ServerSession(
            hello: #require(Padding.pad(hello.encoded, to: TransportBlock.size)), sessionID: Known.sessionID,
            fingerprint: Known.fingerprint, key: key)
        let transmission = Transmission(
            correlationID: Known.correlationID, entityID: [], body: Command.ping.encoded(version: 16))
        let plain = try #require(
            Padding.pad(Batch.encode([transmission.encoded(version: 16)]), to: TransportBlock.size))
        let received = try server.receive(plain)
        #expect(received.map { $0?.command } == [.success(.ping)])
        server.submit(.pong, correlationID: Known.correlationID, entityID: [])
        let block = server.takeBlock()
        let answer = try #require(block)
        let content = try #require(Padding.unpad(answer).flatMap { Batch.decode($0) })
        #expect(
            Transmission(decoding: content[0], version: 16)
                == Transmission(correlationID: Known.correlationID, entityID: [], body: Array("PONG".utf8)))
        expect(.malformed) { try server.receive(Array(plain.dropLast())) }
        expect(.malformed) { try server.receive([UInt8](repeating: 0xff, count: plain.count)) }
        // A client's session cannot read them.
        var conversation = try Conversation()
        expect(.notAuthentic) { try conversation.server.receive(plain) }
    }

    @Test("malformed transmissions do not hide their neighbours")
    func damagedTransmission() throws {
        var conversation = try Conversation()
        let ping = Transmission(
            correlationID: Known.correlationID, entityID: [1], body: Command.ping.encoded(version: 17)
        ).encoded(version: 17)
        // An authorisation longer than the transmission; one of a service.
        let content = Batch.encode([ping, [255, 1, 2], ping, [1, 7, UInt8(ascii: "1"), 0, 0], []])
        var blocks = conversation.keys.blocks
        let received = try conversation.server.receive(blocks.seal(content))
        #expect(received.map { $0 == nil } == [false, true, false, true, true])
        #expect(received[2]?.transmission.entityID == [1])
        // The next block is a different one.
        expect(.malformed) { try conversation.server.receive(blocks.seal([3, 0, 0])) }
    }

    @Test("repeated, reordered and changed blocks are refused")
    func replays() throws {
        var conversation = try Conversation()
        var blocks = conversation.keys.blocks
        let content = Batch.encode([
            Transmission(correlationID: [], entityID: [], body: Array("PING".utf8)).encoded(version: 17)
        ])
        let sealed = (0..<3).map { _ in blocks.seal(content) }
        #expect(try conversation.server.receive(sealed[0]).count == 1)
        var again = conversation.server
        expect(.notAuthentic) { try again.receive(sealed[0]) }
        var outOfOrder = conversation.server
        expect(.notAuthentic) { try outOfOrder.receive(sealed[2]) }
        var changed = conversation.server
        var block = sealed[1]
        block[block.count - 1] ^= 1
        expect(.notAuthentic) { try changed.receive(block) }
        expect(.malformed) { try changed.receive(Array(block.dropLast())) }
        #expect(try conversation.server.receive(sealed[1]).count == 1)
        #expect(try conversation.server.receive(sealed[2]).count == 1)
    }

    @Test(
        "the error names the fault of a command",
        arguments: [
            ("", .unknown), ("DANCE", .unknown), ("ping", .unknown), ("PINGX", .unknown), ("PING ", .syntax),
            ("SUB x", .syntax), ("KEY", .syntax), ("KEY \u{1}x", .syntax), ("SEND x", .syntax),
            ("NEW ", .syntax), ("LSET \u{5}a", .syntax), ("PRXY ", .syntax), ("PFWD ", .syntax),
            ("NSUB", .prohibited), ("NKEY x", .prohibited), ("GET", .prohibited), ("RKEY", .prohibited),
            ("SUBS", .prohibited), ("NSUBS x", .prohibited), ("NDEL", .prohibited),
            ("SUBSCRIBEALL", .unknown),
        ] as [(String, ServerError.Command)])
    func noCommand(text: String, reason: ServerError.Command) throws {
        var conversation = try Conversation()
        var blocks = conversation.keys.blocks
        let bytes = Transmission(
            correlationID: Known.correlationID, entityID: [], body: Array(text.utf8)
        ).encoded(version: 17)
        let received = try conversation.server.receive(blocks.seal(Batch.encode([bytes])))
        #expect(received.map { $0?.command } == [.failure(.command(reason))])
    }

    @Test("answers leave in order in as few blocks as possible")
    func order() throws {
        var conversation = try Conversation()
        #expect(conversation.server.takeBlock() == nil)
        let large = [UInt8](repeating: 7, count: 16_000)
        var expected: [[UInt8]] = []
        for number in 0..<600 {
            expected.append([UInt8(number / 256), UInt8(number % 256)])
            let answer: Answer = number % 100 == 99 ? .message(id: Known.messageID, body: large) : .ok
            conversation.server.submit(answer, correlationID: [], entityID: expected[number])
        }
        var (entities, blocks): ([[UInt8]], Int) = ([], 0)
        var cipher = conversation.keys.blocks
        while let block = conversation.server.takeBlock() {
            blocks += 1
            let opened = try cipher.open(block)
            let transmissions = try #require(Batch.decode(opened))
            #expect(transmissions.count <= 255)
            entities += transmissions.compactMap { Transmission(decoding: $0, version: 17)?.entityID }
        }
        #expect(entities == expected)
        // Six long ones, each after its predecessors.
        #expect((6...12).contains(blocks))
    }

    @Test("an oversized answer becomes an error")
    func tooLong() throws {
        var conversation = try Conversation()
        let id = [UInt8](repeating: 3, count: 200)
        let body = [UInt8](repeating: 1, count: 16_300)
        conversation.server.submit(
            .message(id: Known.messageID, body: body), correlationID: [], entityID: id)
        conversation.server.submit(.end, correlationID: [], entityID: id)
        #expect(conversation.events() == [.complaint(.internalError), .ended(recipientID: id)])
    }

    @Test("only the key's owner authorises commands in a session")
    func authority() throws {
        let conversation = try Conversation()
        let authority = conversation.server.authority
        let keys: [CommandKey] = [.signing(try Known.signing(5)), .agreement(try Known.agreement(6))]
        for (key, other) in zip(keys, keys.reversed()) {
            var transmission = Transmission(
                correlationID: Known.correlationID, entityID: Known.recipientID, body: Array("DEL".utf8))
            transmission.authorization = try key.authorization(
                of: transmission.signedBytes(sessionID: Known.sessionID), correlationID: Known.correlationID,
                serverKey: conversation.keys.serverKey)
            #expect(authority.isAuthorized(transmission, by: key.publicKey))
            #expect(!authority.isAuthorized(transmission, by: other.publicKey))
            #expect(!authority.isAuthorized(transmission, by: []))
            for change in [
                { $0.body = Array("OFF".utf8) }, { $0.entityID[0] ^= 1 }, { $0.correlationID[0] ^= 1 },
                { $0.authorization[0] ^= 1 }, { $0.authorization = [] }, { $0.authorization += [0] },
                { $0.correlationID = [] },
            ] as [(inout Transmission) -> Void] {
                var changed = transmission
                change(&changed)
                #expect(!authority.isAuthorized(changed, by: key.publicKey))
            }
            // The same in another session.
            transmission.authorization = try key.authorization(
                of: transmission.signedBytes(sessionID: Known.sessionID.reversed()),
                correlationID: Known.correlationID, serverKey: conversation.keys.serverKey)
            #expect(!authority.isAuthorized(transmission, by: key.publicKey))
        }
        // A key of small order authorises nothing.
        let zero = KeyForm.x25519Public.encode([UInt8](repeating: 0, count: 32))
        let transmission = Transmission(
            authorization: [UInt8](repeating: 0, count: 80), correlationID: Known.correlationID, entityID: [],
            body: [])
        #expect(!authority.isAuthorized(transmission, by: zero))
    }

    @Test("a server survives arbitrary bytes")
    func mutations() throws {
        var generator = SeededGenerator(state: 31)
        let conversation = try Conversation()
        let samples = try Command.all().map { command in
            Transmission(
                authorization: [1, 2, 3], correlationID: Known.correlationID, entityID: Known.senderID,
                body: command.encoded(version: 17)
            ).encoded(version: 17)
        }
        for _ in 0..<1500 {
            var (server, blocks) = (conversation.server, conversation.keys.blocks)
            let chosen = (0..<Int.random(in: 1...4, using: &generator)).compactMap { _ in
                samples.randomElement(using: &generator)
            }
            let content = generator.mutated(Batch.encode(chosen))
            guard let received = try? server.receive(blocks.seal(content)) else { continue }
            #expect((1...255).contains(received.count))
            for case .success(let command) in received.compactMap({ $0?.command }) {
                #expect(Command(decoding: command.encoded(version: 17), version: 17) == command)
            }
        }
    }
}
