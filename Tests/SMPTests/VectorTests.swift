import Base
import Cryptography
import TestSupport
import Testing

@testable import SMP

/// Values of an independent implementation that works with the official programs.
@Suite struct VectorTests {
    @Test func keysAndServersMatchTheVectors() throws {
        let vector = try VectorValue.file("encoding")
        #expect(try Known.agreement(1).publicKey == vector["spki"]["x25519_01"]["spki"].bytes)
        #expect(try Known.x448(1).spki == vector["spki"]["x448_01"]["spki"].bytes)
        #expect(try Known.signing(1).publicKey == vector["spki"]["ed25519_01"]["spki"].bytes)
        for (text, binary, server) in [
            (try vector["server"]["text"].text, try vector["server"]["binary"].bytes, try Known.server()),
            (
                try vector["server"]["noport_text"].text, try vector["server"]["noport_binary"].bytes,
                try Known.server(hosts: ["localhost"], port: nil)
            ),
        ] {
            #expect(server.text == text)
            #expect(ServerAddress(text) == server)
            var bytes: [UInt8] = []
            bytes.append(server)
            #expect(bytes == binary)
            var reader = ByteReader(binary)
            #expect(reader.serverAddress() == server && reader.remaining == 0)
        }
    }

    @Test func fieldsMatchTheVectors() throws {
        let vector = try VectorValue.file("encoding")
        var bytes: [UInt8] = []
        bytes.append(optional: [UInt8]?.none) { $0.append(byteString: $1) }
        #expect(try bytes == vector["maybe_none"].bytes)
        bytes = []
        bytes.append(optional: Array("abc".utf8)) { $0.append(byteString: $1) }
        #expect(try bytes == vector["maybe_bytes_abc"].bytes)
        bytes = []
        bytes.append(large: Array("abc".utf8))
        #expect(try bytes == vector["large_abc"].bytes)
        bytes = []
        bytes.append(bigEndian: Int64(-2))
        #expect(try bytes == vector["int64_-2"].bytes)
        var reader = ByteReader(bytes)
        #expect(reader.integer(Int64.self) == -2)
        bytes = []
        bytes.append(byteStrings: [Array("a".utf8), Array("bc".utf8)])
        #expect(try bytes == vector["list_of_2"].bytes)
        #expect(try Padding.pad(Array("hello".utf8), to: 16) == vector["pad_hello_16"].bytes)
        #expect(try Padding.unpad(vector["pad_hello_16"].bytes) == Array("hello".utf8))
    }

    @Test func queuesMatchTheVectors() throws {
        let vector = try VectorValue.file("encoding")
        let messaging = try Known.queue()
        let contact = try Known.queue(
            mode: .contact, versions: 4...4, server: Known.server(hosts: ["localhost"], port: nil))
        for (name, queue) in [("queueUri_text_v1_4_m", messaging), ("queueUri_text_v4_c", contact)] {
            #expect(try queue.text == vector[name].text)
            #expect(try OfferedQueue(vector[name].text) == queue)
        }
        for (name, queue) in [
            ("queueUri_binary_v1_4_m", messaging),
            ("queueUri_binary_v1_4_c", try Known.queue(mode: .contact)),
        ] {
            var bytes: [UInt8] = []
            bytes.append(queue)
            #expect(try bytes == vector[name].bytes)
            var reader = ByteReader(bytes)
            #expect(reader.offeredQueue() == queue && reader.remaining == 0)
        }
        let reply = ReplyQueue(version: 4, address: messaging.address)
        var bytes: [UInt8] = []
        bytes.append(reply)
        #expect(try bytes == vector["queueInfo_binary_v4_m"].bytes)
        var reader = ByteReader(bytes)
        #expect(reader.replyQueue() == reply && reader.remaining == 0)
    }

    @Test func fullLinksMatchTheVectors() throws {
        let vector = try VectorValue.file("encoding")
        let invitation = try #require(
            ConnectionRequest(kind: .invitation(Known.offer()), queues: [Known.queue()]))
        #expect(try invitation.link == vector["invitation"].text)
        #expect(try ConnectionRequest(link: vector["invitation"].text) == invitation)
        let contact = try #require(
            ConnectionRequest(kind: .contact, queues: [Known.queue(mode: .contact)]))
        #expect(try contact.link == vector["contact"].text)
        #expect(try ConnectionRequest(link: vector["contact"].text) == contact)
    }

    @Test func blockKeysMatchTheVectors() throws {
        let vector = try VectorValue.file("transport")
        let secret = try Known.agreement(3).wipedSecret(with: Known.agreement(4).publicKey)
        #expect(try secret.bytes == vector["dh"].bytes)
        let client = BlockCipher(secret: secret, sessionID: Known.sessionID, side: .client)
        for (name, first) in [("client_sends", client.sending), ("client_receives", client.receiving)] {
            var chain = first
            for published in try vector[name].list {
                #expect(try chain.bytes == published["chainKey"].bytes)
                let step = BlockCipher.step(&chain)
                #expect(try step.key.bytes == published["key"].bytes)
                #expect(try step.nonce == published["nonce"].bytes)
                #expect(try chain.bytes == published["next"].bytes)
            }
        }
        var sender = client
        var server = BlockCipher(secret: secret, sessionID: Known.sessionID, side: .server)
        let block = sender.seal(Array("hello".utf8))
        #expect(try vector["block_hello_sent"].describes(block, sha256: SHA256.hash))
        #expect(try server.open(block) == Array("hello".utf8))
        expect(.notAuthentic) { try server.open(block) }
    }

    @Test func clientHelloMatchesTheVectors() throws {
        let vector = try VectorValue.file("transport")
        let hello = ClientHello(
            version: 17, identity: Known.fingerprint, key: try Known.agreement(3).publicKey)
        #expect(try hello.encoded == vector["client_hello_v17"].bytes)
        let block = try #require(Padding.pad(hello.encoded, to: TransportBlock.size))
        #expect(try vector["client_hello_v17_block"].describes(block, sha256: SHA256.hash))
        #expect(ClientHello(decoding: hello.encoded) == hello)
    }

    @Test func serverMessagesMatchTheVectors() throws {
        let vector = try VectorValue.file("message_body")
        let secret = try Known.agreement(1).wipedSecret(with: Known.agreement(4).publicKey)
        #expect(try secret.bytes == vector["secret"].bytes)
        for (plain, name) in [("plain", "MSG"), ("quota_plain", "MSG_quota")] {
            let body = try #require(DeliveredBody(decoding: vector[plain].bytes))
            #expect(try body.encoded == vector[plain].bytes)
            let box = try #require(body.sealed(messageID: Known.messageID, secret: secret))
            let answer = Answer.message(id: Known.messageID, body: box)
            #expect(try vector[name].describes(answer.encoded(version: 17), sha256: SHA256.hash))
            #expect(Answer(decoding: answer.encoded(version: 17), version: 17) == answer)
            #expect(try DeliveredBody(opening: box, messageID: Known.messageID, secret: secret) == body)
            expect(.notAuthentic) {
                try DeliveredBody(opening: box, messageID: Known.recipientID, secret: secret)
            }
        }
        let read = try #require(DeliveredBody(decoding: vector["plain"].bytes))
        #expect(
            read == .message(received: 1_700_000_000, flags: Array("T".utf8), body: Array("hello".utf8)))
    }

    @Test func queueBoxesMatchTheVectors() throws {
        let vector = try VectorValue.file("queue_layer")
        let sender = try Known.agreement(8)
        let secret = try sender.wipedSecret(with: Known.agreement(9).publicKey)
        #expect(try secret.bytes == vector["secret"].bytes)
        for (name, key) in [("confirmation", sender.publicKey), ("message", nil)] {
            let content = try #require(QueueMessage.Content(decoding: vector["\(name)_inner"].bytes))
            let message = try QueueMessage(
                sealing: content, version: 4, senderKey: key, secret: secret, nonce: Known.correlationID)
            #expect(try vector[name].describes(message.encoded, sha256: SHA256.hash))
            let read = try QueueMessage(decoding: message.encoded)
            #expect(read == message)
            #expect(try read.open(secret: secret) == content)
            expect(.notAuthentic) { try read.open(secret: WipedBytes([UInt8](repeating: 1, count: 32))) }
        }
        let inner = try vector["confirmation_with_sender_key_inner"].bytes
        let content = try #require(QueueMessage.Content(decoding: inner))
        #expect(try content.authorizationKey == Known.signing(7).publicKey)
        #expect(content.envelope == Array("CONF".utf8))
        #expect(content.encoded == inner)
    }
}
