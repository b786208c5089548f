import Base
import TestSupport
import Testing

@testable import Cryptography
@testable import SMP

/// The boxes around messages: their capacity, their readers, and their constant length.
@Suite("Boxes of messages and blocks")
struct BodyTests {
    private static let secret = WipedBytes([UInt8](repeating: 1, count: 32))
    private static let other = WipedBytes([UInt8](repeating: 2, count: 32))

    @Test("delivered messages have equal lengths")
    func delivered() throws {
        // 8 bytes of time, flags, a space, 2 bytes of length.
        let longest = DeliveredBody.size - 2 - 8 - 1 - 1
        var lengths: Set<Int> = []
        for count in [0, 1, 1000, longest] {
            let body = DeliveredBody.message(
                received: -1, flags: [UInt8(ascii: "T")], body: [UInt8](repeating: 9, count: count))
            let box = try #require(body.sealed(messageID: Known.messageID, secret: Self.secret))
            lengths.insert(box.count)
            #expect(try DeliveredBody(opening: box, messageID: Known.messageID, secret: Self.secret) == body)
            expect(.notAuthentic) {
                try DeliveredBody(opening: box, messageID: Known.messageID, secret: Self.other)
            }
            expect(.notAuthentic) {
                try DeliveredBody(opening: box, messageID: Known.correlationID, secret: Self.secret)
            }
        }
        #expect(lengths == [DeliveredBody.size + MessageBox.tagLength])
        let tooLong = DeliveredBody.message(
            received: 0, flags: [UInt8(ascii: "T")], body: [UInt8](repeating: 9, count: longest + 1))
        #expect(tooLong.sealed(messageID: Known.messageID, secret: Self.secret) == nil)
        // Flags of a later version, and a body with spaces.
        let body = DeliveredBody.message(received: .max, flags: Array("TFx".utf8), body: Array("a b c ".utf8))
        #expect(DeliveredBody(decoding: body.encoded) == body)
    }

    @Test("QUOTA carries its time", arguments: [0, 1, Int64.max, Int64.min])
    func quota(seconds: Int64) throws {
        let quota = DeliveredBody.quota(received: seconds)
        let box = try #require(quota.sealed(messageID: Known.messageID, secret: Self.secret))
        #expect(try DeliveredBody(opening: box, messageID: Known.messageID, secret: Self.secret) == quota)
        #expect(DeliveredBody(decoding: quota.encoded + [0]) == nil)
        for count in 0..<quota.encoded.count {
            let cut = DeliveredBody(decoding: Array(quota.encoded.prefix(count)))
            #expect(cut == nil, "\(count)")
        }
    }

    @Test("nonsense in a valid box is malformed, not damaged")
    func nonsense() throws {
        for plain in [[], [1, 2, 3], [UInt8](repeating: 0, count: 8), [UInt8](repeating: 1, count: 20)] {
            let box = try #require(
                MessageBox.seal(
                    plain, paddedTo: DeliveredBody.size, key: Self.secret, nonce: Known.messageID))
            expect(.malformed) {
                try DeliveredBody(opening: box, messageID: Known.messageID, secret: Self.secret)
            }
        }
        for box in [[], [1], [UInt8](repeating: 1, count: 16), [UInt8](repeating: 1, count: 17)] {
            expect(.notAuthentic) {
                try DeliveredBody(opening: box, messageID: Known.messageID, secret: Self.secret)
            }
        }
    }

    private static func sealed(
        _ content: QueueMessage.Content, senderKey: [UInt8]? = nil
    ) throws -> QueueMessage {
        try QueueMessage(
            sealing: content, version: 4, senderKey: senderKey, secret: secret, nonce: Known.correlationID)
    }

    @Test("first and later messages have one length each")
    func queueMessages() throws {
        let key = try Known.agreement(8).publicKey
        let authorizing = try Known.signing(7).publicKey
        for senderKey in [nil, key] {
            var lengths: Set<Int> = []
            for authorizationKey in [nil, authorizing, key] {
                for count in [0, 1, 255, 15_000] {
                    let content = QueueMessage.Content(
                        authorizationKey: authorizationKey, envelope: [UInt8](repeating: 3, count: count))
                    let message = try Self.sealed(content, senderKey: senderKey)
                    lengths.insert(message.encoded.count)
                    let read = try QueueMessage(decoding: message.encoded)
                    #expect(read == message && read.senderKey == senderKey)
                    #expect(try read.open(secret: Self.secret) == content)
                    expect(.notAuthentic) { try read.open(secret: Self.other) }
                }
            }
            #expect(lengths.count == 1)
        }
    }

    @Test("an envelope may fill all the padding")
    func longestEnvelope() throws {
        let key = try Known.agreement(8).publicKey
        for (senderKey, size) in [(nil, 16_000), (key, 15_904)] as [([UInt8]?, Int)] {
            let longest = size - 2 - 1
            func seal(_ count: Int) throws -> QueueMessage {
                try Self.sealed(
                    QueueMessage.Content(envelope: [UInt8](repeating: 3, count: count)), senderKey: senderKey)
            }
            #expect(try seal(longest).open(secret: Self.secret).envelope.count == longest)
            expect(.tooLong) { try seal(longest + 1) }
        }
    }

    @Test("truncated bodies are malformed")
    func malformedBodies() throws {
        let message = try Self.sealed(
            QueueMessage.Content(envelope: [1]), senderKey: Known.agreement(8).publicKey)
        let bytes = message.encoded
        let header = bytes.count - message.box.count
        for count in 0..<header + MessageBox.tagLength {
            expect(.malformed) { try QueueMessage(decoding: Array(bytes.prefix(count))) }
        }
        _ = try QueueMessage(decoding: Array(bytes.prefix(header + MessageBox.tagLength)))
        var other = bytes
        other[2] = UInt8(ascii: "2")
        expect(.malformed) { try QueueMessage(decoding: other) }
        // In a valid box: no mark, another mark, an invalid key.
        for plain in [[], Array("X".utf8), Array("K".utf8), Array("K\u{3}abc".utf8)] {
            let box = try #require(
                MessageBox.seal(plain, paddedTo: 16_000, key: Self.secret, nonce: Known.correlationID))
            var read = try Self.sealed(QueueMessage.Content(envelope: []))
            read.box = box
            expect(.malformed) { try read.open(secret: Self.secret) }
        }
    }

    @Test("block ciphers have one length and only move forward")
    func blocks() throws {
        var (client, server) = (
            BlockCipher(secret: Self.secret, sessionID: Known.sessionID, side: .client),
            BlockCipher(secret: Self.secret, sessionID: Known.sessionID, side: .server)
        )
        for count in [0, 1, 5000, TransportBlock.capacity] {
            let content = [UInt8](repeating: 5, count: count)
            let block = client.seal(content)
            #expect(block.count == TransportBlock.size)
            #expect(try server.open(block) == content)
            let answer = server.seal(content)
            #expect(answer != block, "each direction has its keys")
            #expect(try client.open(answer) == content)
        }
        // Equal content never gives equal blocks.
        #expect(client.seal([1]) != client.seal([1]))
        // Neither the sender nor another session can open a block.
        let block = server.seal([1])
        var itself = server
        expect(.notAuthentic) { try itself.open(block) }
        var elsewhere = BlockCipher(
            secret: Self.secret, sessionID: Known.sessionID.reversed(), side: .client)
        expect(.notAuthentic) { try elsewhere.open(block) }
    }

    @Test("a block holds at most 255 transmissions")
    func batches() throws {
        #expect(Batch.count([[UInt8]]()) == 0)
        #expect(Batch.count(Array(repeating: [UInt8](), count: 1000)) == 255)
        let longest = TransportBlock.capacity - 1 - 2
        #expect(Batch.count([[UInt8](repeating: 1, count: longest)]) == 1)
        #expect(
            Batch.count([[UInt8](repeating: 1, count: longest + 1), [1]]) == 0,
            "not the second before the first")
        #expect(Batch.encode([[UInt8](repeating: 1, count: longest)]).count == TransportBlock.capacity)
        var generator = SeededGenerator(state: 9)
        for _ in 0..<300 {
            let all = (0..<Int.random(in: 1...400, using: &generator)).map { _ in
                [UInt8](repeating: 1, count: Int.random(in: 0...300, using: &generator))
            }
            let count = Batch.count(all)
            let content = Batch.encode(Array(all[..<count]))
            #expect(content.count <= TransportBlock.capacity && Batch.decode(content) == Array(all[..<count]))
            let isFull =
                count == all.count || count == 255
                || content.count + 2 + all[count].count > TransportBlock.capacity
            #expect(isFull, "the next one would have fitted")
        }
    }

    @Test("signatures of services are refused")
    func services() {
        let transmission = Transmission(
            authorization: [1, 2], correlationID: Known.correlationID, entityID: Known.senderID,
            body: Array("PING".utf8))
        let (early, late) = (transmission.encoded(version: 15), transmission.encoded(version: 16))
        #expect(late.count == early.count + 1)
        #expect(Transmission(decoding: early, version: 15) == transmission)
        #expect(Transmission(decoding: late, version: 17) == transmission)
        #expect(Transmission(decoding: early, version: 16) != transmission)
        var service = late
        service[3] = UInt8(ascii: "1")
        #expect(Transmission(decoding: service, version: 16) == nil)
        // Without authorisation, no version has one.
        var unsigned = transmission
        unsigned.authorization = []
        #expect(unsigned.encoded(version: 15) == unsigned.encoded(version: 17))
        // The authorisation covers everything else and the session id, which is not sent.
        #expect(unsigned.signedBytes(sessionID: [1]) == transmission.signedBytes(sessionID: [1]))
        #expect(transmission.signedBytes(sessionID: [1]) != transmission.signedBytes(sessionID: [2]))
    }
}
