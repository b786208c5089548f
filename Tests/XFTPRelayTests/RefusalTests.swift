import Base
import Cryptography
import Network
import Testing
import XFTP
import XFTPRelay

/// All errors of the protocol. The connection stays usable after each.
@Suite struct RefusalTests {
    /// Expects this error, then a PONG on the same connection.
    private func expect(
        _ error: XFTPProtocolError, on talk: RelayTalk, _ command: XFTPCommand, entity: [UInt8] = [],
        key: SigningKey? = nil, body: [UInt8] = []
    ) async throws {
        let answer = try await talk.ask(command, entity: entity, key: key, body: body)
        #expect(answer == .error(error))
        let pong = try await talk.ask(.ping)
        #expect(pong == .pong)
    }

    @Test func commandsNeedSignatureAndEntity() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        var chunk = TestChunk()
        try await chunk.create(on: talk)
        let exchangeKey = AgreementKey.generate().publicKey
        let commands: [XFTPCommand] = [
            .upload, .delete, .acknowledge, .download(key: exchangeKey),
            .addRecipients(keys: [chunk.sender.publicKey]),
        ]
        for command in commands {
            try await expect(.command(.noSignature), on: talk, command, entity: chunk.senderID)
            try await expect(.command(.noSignature), on: talk, command, key: chunk.sender)
        }
        try await expect(.command(.noSignature), on: talk, chunk.announcement())
        try await expect(
            .command(.hasSignature), on: talk, chunk.announcement(), entity: [1], key: chunk.sender)
        await place.relay.stop()
    }

    @Test func wrongSignaturesAndUnknownIDsLookAlike() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        var chunk = TestChunk()
        try await chunk.create(on: talk)
        let stranger = SigningKey.generate()
        let download = XFTPCommand.download(key: AgreementKey.generate().publicKey)
        let unknown = [UInt8](repeating: 9, count: 16)
        try await expect(.authorization, on: talk, .delete, entity: chunk.senderID, key: stranger)
        try await expect(.authorization, on: talk, .delete, entity: unknown, key: chunk.sender)
        try await expect(.authorization, on: talk, .delete, entity: chunk.recipientIDs[0], key: chunk.sender)
        try await expect(.authorization, on: talk, download, entity: chunk.senderID, key: chunk.sender)
        try await expect(.authorization, on: talk, download, entity: chunk.recipientIDs[0], key: stranger)
        try await expect(.authorization, on: talk, chunk.announcement(), key: stranger)
        await place.relay.stop()
    }

    @Test func malformedCommandsAreSyntaxErrors() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        let key = SigningKey.generate()
        for (body, error) in [
            ("NOPE", XFTPProtocolError.command(.unknown)), ("", .command(.unknown)),
            ("PING ", .command(.syntax)), ("PINGX", .command(.syntax)), ("FNEW ", .command(.syntax)),
            ("FGET \u{5}short", .command(.syntax)),
        ] {
            var transmission = Transmission(
                sessionID: talk.client.channelBinding, correlationID: [1, 2, 3], body: Array(body.utf8))
            if body.hasPrefix("F") {
                transmission.entityID = [7]
                transmission.signature = key.sign(transmission.signedBytes)
            }
            let (answer, _) = try await talk.exchange(transmission.block() ?? [])
            #expect(XFTPResponse(decoding: answer.body) == .error(error))
            // The response echoes the client's fields.
            #expect(answer.correlationID == [1, 2, 3])
            #expect(answer.entityID == transmission.entityID)
            #expect(answer.sessionID == talk.client.channelBinding)
            #expect(answer.signature.isEmpty)
        }
        // Keys of a kind that the protocol does not use.
        let foreign = AgreementKey.generate().publicKey
        var chunk = TestChunk()
        try await chunk.create(on: talk)
        try await expect(
            .command(.syntax), on: talk, .addRecipients(keys: [foreign]), entity: chunk.senderID,
            key: chunk.sender)
        try await expect(
            .command(.syntax), on: talk, .download(key: key.publicKey), entity: chunk.recipientIDs[0],
            key: chunk.recipients[0])
        await place.relay.stop()
    }

    @Test func invalidBlocksAndSessionsAreRejected() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        let honest = talk.block(.ping)
        var batch = honest
        batch[2] = 2
        var long = honest
        long[0] = 0xff
        for bytes in [[], Array(honest.dropLast()), batch, long] {
            let (answer, _) = try await talk.exchange(bytes)
            #expect(XFTPResponse(decoding: answer.body) == .error(.block))
        }
        let foreign = talk.block(.ping, session: [UInt8](repeating: 3, count: 32))
        let (answer, _) = try await talk.exchange(foreign)
        #expect(XFTPResponse(decoding: answer.body) == .error(.session))
        // Bytes after the block of an ordinary command are ignored.
        let (pong, _) = try await talk.exchange(honest + [1, 2, 3])
        #expect(XFTPResponse(decoding: pong.body) == .pong)
        await place.relay.stop()
    }

    @Test func otherChunkSizesAreRejected() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        for size in [1, 65_535, 65_537, 131_072] {
            let chunk = TestChunk(size: size)
            try await expect(.size, on: talk, chunk.announcement(), key: chunk.sender)
        }
        await place.relay.stop()
    }

    @Test func wrongUploadIsRejectedAndCanBeRepeated() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        var chunk = TestChunk(size: 262_144)
        try await chunk.create(on: talk)
        var altered = chunk.bytes
        altered[100_000] ^= 1
        for (body, error) in [
            (altered, XFTPProtocolError.digest), (Array(chunk.bytes.dropLast()), .size), ([], .size),
        ] {
            try await expect(
                error, on: talk, .upload, entity: chunk.senderID, key: chunk.sender, body: body)
        }
        // An excess byte may end the connection before the end of the body.
        let long = try await chunk.put(on: try await place.connect(), body: chunk.bytes + [0])
        #expect(long == .error(.size))
        let nothing = try await chunk.get(on: talk)
        #expect(nothing == .failure(.noFile))
        let leftovers = try place.folder.names(in: "relay/incoming") + place.folder.names(in: "relay/chunks")
        #expect(leftovers.isEmpty)
        let answer = try await chunk.put(on: talk)
        #expect(answer == .ok)
        await place.relay.stop()
    }

    @Test func digestOfWrongLengthFailsTheUpload() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        var chunk = TestChunk()
        let announcement = chunk.announcement(digest: [UInt8](repeating: 1, count: 31))
        guard case .created(let id, _) = try await talk.ask(announcement, key: chunk.sender) else {
            Issue.record("FNEW was refused")
            return
        }
        chunk.senderID = id
        let answer = try await chunk.put(on: talk)
        #expect(answer == .error(.digest))
        await place.relay.stop()
    }

    @Test func repeatedUploadChecksOnlyTheLength() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        var chunk = TestChunk()
        try await chunk.create(on: talk)
        _ = try await chunk.put(on: talk)
        let other = try await chunk.put(on: talk, body: [UInt8](repeating: 0, count: chunk.bytes.count))
        #expect(other == .ok)
        let short = try await chunk.put(on: talk, body: [1])
        #expect(short == .error(.size))
        let bytes = try await chunk.get(on: talk)
        #expect(bytes == .success(chunk.bytes))
        #expect(place.relay.storedBytes == 65_536)
        await place.relay.stop()
    }

    /// The official relay leaves the connection without flow-control credit; ours must not.
    @Test func refusedUploadsKeepTheConnectionUsable() async throws {
        let place = try RelayPlace { $0.quota = 10_000 }
        let talk = try await place.connect()
        var chunk = TestChunk()
        try await chunk.create(on: talk)
        // 19 MiB in total, more than the connection's window.
        for _ in 0..<300 {
            let answer = try await chunk.put(on: talk)
            #expect(answer == .error(.quota))
        }
        let pong = try await talk.ask(.ping)
        #expect(pong == .pong)
        await place.relay.stop()
    }

    @Test func refusalPrecedesTheEndOfTheBody() async throws {
        let place = try RelayPlace { $0.quota = 10_000 }
        var chunk = TestChunk(size: 4_194_304)
        try await chunk.create(on: try await place.connect())
        for _ in 0..<6 {
            let answer = try await chunk.put(on: try await place.connect())
            #expect(answer == .error(.quota))
        }
        await place.relay.stop()
    }

    @Test func handshakeOrderIsEnforced() async throws {
        let place = try RelayPlace()
        let address = place.relay.address
        let client = try await RelayTalk.dial(address)
        let refusal = Block.pad(Array("HANDSHAKE".utf8)) ?? []
        let right = ClientHello(version: 2, identity: address.fingerprint).block() ?? []
        // The client's hello before the relay's.
        let early = try await RelayTalk.post(right, to: client)
        #expect(early == refusal)
        let hello = try await RelayTalk.post([], to: client)
        #expect(hello.count == Block.size && hello != refusal)
        let second = try await RelayTalk.post([], to: client)
        #expect(second == refusal)
        for wrong in [
            ClientHello(version: 0, identity: address.fingerprint),
            ClientHello(version: 4, identity: address.fingerprint),
            ClientHello(version: 3, identity: [UInt8](repeating: 0, count: 32)),
        ] {
            let answer = try await RelayTalk.post(wrong.block() ?? [], to: client)
            #expect(answer == refusal)
        }
        let short = try await RelayTalk.post(Array(right.dropLast()), to: client)
        #expect(short == refusal)
        let accepted = try await RelayTalk.post(right, to: client)
        #expect(accepted.isEmpty)
        await place.relay.stop()
    }

    @Test func relaySurvivesRandomBlocks() async throws {
        let place = try RelayPlace()
        let talk = try await place.connect()
        var chunk = TestChunk()
        try await chunk.create(on: talk)
        let commands = [
            talk.block(chunk.announcement(), key: chunk.sender),
            talk.block(.delete, entity: chunk.senderID, key: SigningKey.generate()),
            talk.block(.ping),
        ]
        var state: UInt64 = 7
        func random(below bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        for round in 0..<300 {
            var bytes = commands[round % commands.count]
            for _ in 0...random(below: 4) {
                bytes[random(below: 300)] = UInt8(random(below: 256))
            }
            let (answer, _) = try await talk.exchange(bytes)
            #expect(XFTPResponse(decoding: answer.body) != nil)
        }
        let pong = try await talk.ask(.ping)
        #expect(pong == .pong)
        await place.relay.stop()
    }
}
