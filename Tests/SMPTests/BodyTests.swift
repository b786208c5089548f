import Base
import TestSupport
import Testing

@testable import Cryptography
@testable import SMP

/// The boxes around messages: what fits, who can open them, and that their length tells nothing.
@Suite("Boxes of messages and blocks")
struct BodyTests {
    private static let secret = WipedBytes([UInt8](repeating: 1, count: 32))
    private static let other = WipedBytes([UInt8](repeating: 2, count: 32))

    @Test("a delivered message is as long as every other, up to the longest that fits")
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

    @Test("that a queue was full is told with the time up to which", arguments: [0, 1, Int64.max, Int64.min])
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

    @Test("what is in a good box and makes no sense is malformed, not damaged")
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

    @Test("first messages and later ones have a length each, whatever is in them")
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

    @Test("an envelope fits up to the last byte of its padding")
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

    @Test("a body that is cut, of another key, or without room for a tag is malformed")
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
        // In a good box: no mark, another mark, a key that is none.
        for plain in [[], Array("X".utf8), Array("K".utf8), Array("K\u{3}abc".utf8)] {
            let box = try #require(
                MessageBox.seal(plain, paddedTo: 16_000, key: Self.secret, nonce: Known.correlationID))
            var read = try Self.sealed(QueueMessage.Content(envelope: []))
            read.box = box
            expect(.malformed) { try read.open(secret: Self.secret) }
        }
    }

    @Test("a cipher of blocks takes what fits, has one length, and goes only forwards")
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
        // The same content is never the same block twice.
        #expect(client.seal([1]) != client.seal([1]))
        // What one sends it cannot open itself, and another session cannot either.
        let block = server.seal([1])
        var itself = server
        expect(.notAuthentic) { try itself.open(block) }
        var elsewhere = BlockCipher(
            secret: Self.secret, sessionID: Known.sessionID.reversed(), side: .client)
        expect(.notAuthentic) { try elsewhere.open(block) }
    }

    @Test("a block holds as many transmissions as it has room for, and never more than 255")
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

    @Test("a transmission of a service is refused, and one of an earlier version has no place for it")
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
        // Where nobody authorises there is none in any version.
        var unsigned = transmission
        unsigned.authorization = []
        #expect(unsigned.encoded(version: 15) == unsigned.encoded(version: 17))
        // The authorisation covers all but itself, and the session that is not sent.
        #expect(unsigned.signedBytes(sessionID: [1]) == transmission.signedBytes(sessionID: [1]))
        #expect(transmission.signedBytes(sessionID: [1]) != transmission.signedBytes(sessionID: [2]))
    }
}
