import Base
import Cryptography
import Ratchet
import SMP
import TestSupport
import Testing

@testable import Agent

@Suite struct CodecTests {
    private static func queue(_ mode: QueueMode = .messaging) throws -> QueueAddress {
        try #require(
            QueueAddress(
                server: Known.server(), senderID: [UInt8](0..<24),
                key: AgreementKey(rawValue: [UInt8](repeating: 1, count: 32)).publicKey, mode: mode))
    }

    private static func authorizationKey() throws -> [UInt8] {
        try SigningKey(seed: [UInt8](repeating: 2, count: 32)).publicKey
    }

    private static func contents() throws -> [MessageContent] {
        let queue = try queue()
        return [
            .hello, .body(bytes("{}")), .receipts([.init(number: 2, hash: SHA256.hash([1]))]),
            .queueContinue(queue.location),
            .newQueues([
                .init(queue: OfferedQueue(address: queue), replaces: queue.location),
                .init(queue: OfferedQueue(address: queue), replaces: nil),
            ]),
            .queueKeys([
                .init(queue: ReplyQueue(version: 4, address: queue), authorizationKey: try authorizationKey())
            ]),
            .useQueues([.init(queue: queue.location, isSecured: true)]), .queueTest([queue.location]),
            .ratchetReady(lastReceived: 77), .unknown(bytes("Z of a later version")),
        ]
    }

    @Test func messagesRoundTripThroughCodec() throws {
        for content in try Self.contents() {
            #expect(MessageContent(decoding: content.encoded) == content)
            let message = AgentMessage.numbered(9, previousHash: SHA256.hash([2]), content)
            #expect(AgentMessage(decoding: message.encoded) == message)
        }
        let joined = AgentMessage.joined(
            queues: [ReplyQueue(version: 4, address: try Self.queue())],
            information: bytes("{\"v\":\"1-16\"}"))
        #expect(AgentMessage(decoding: joined.encoded) == joined)
        let confirmed = AgentMessage.confirmed(information: bytes("X"))
        #expect(AgentMessage(decoding: confirmed.encoded) == confirmed)

        let parameters = AgreementKeys.generate().parameters(version: 3)
        let envelopes: [AgentEnvelope.Content] = [
            .confirmation(parameters: parameters, message: [1, 2]),
            .confirmation(parameters: nil, message: [1, 2]), .message([3]),
            .invitation(link: "simplex:/invitation", information: bytes("{}")),
            .keys(parameters, information: bytes("R")),
        ]
        for content in envelopes {
            let envelope = AgentEnvelope(version: 7, content)
            #expect(AgentEnvelope(decoding: envelope.encoded) == envelope)
        }
    }

    @Test func publishedVectorsDecodeAndEncode() throws {
        let vector = try VectorValue.file("chat")
        let message = try vector["agent_message (id 2, previous hash = sha256 of 49): M"].bytes
        let expected = AgentMessage.numbered(
            2, previousHash: SHA256.hash([0x49]), .body(bytes(try vector["text_message"].text)))
        #expect(AgentMessage(decoding: message) == expected && expected.encoded == message)
        #expect(try SHA256.hash(message) == vector["hash_of_it"].bytes)
        let receipt = MessageContent.receipts([
            .init(
                number: 2, hash: try vector["receipt_for_message_2"].bytes.dropFirst(11).prefix(32).map { $0 }
            )
        ])
        #expect(try receipt.encoded == vector["receipt_for_message_2"].bytes)
        #expect(try MessageContent.hello.encoded == vector["hello"].bytes)
    }

    @Test func truncatedOrLongInputIsRejectedOrIgnored() throws {
        for content in try Self.contents() {
            let whole = content.encoded
            for count in 0..<whole.count {
                let read = MessageContent(decoding: Array(whole.prefix(count)))
                #expect(read.encoded == Array(whole.prefix(count)))
                if case .body = content { continue }
                if case .unknown = content { continue }
                #expect(read != content)
            }
        }
        let message = AgentMessage.numbered(1, previousHash: SHA256.hash([2]), .hello).encoded
        for count in 0..<42 { #expect(AgentMessage(decoding: Array(message.prefix(count))) == nil) }
        #expect(AgentMessage(decoding: bytes("Mxxxxxxxx")) == nil)
        #expect(AgentEnvelope(decoding: [0, 7]) == nil)
        #expect(AgentEnvelope(decoding: [0, 7] + bytes("Z")) == nil)
        let queues = [ReplyQueue](
            repeating: ReplyQueue(version: 4, address: try Self.queue()), count: 9)
        #expect(AgentMessage(decoding: AgentMessage.joined(queues: queues, information: []).encoded) == nil)
    }

    @Test func securityCodeIsDecimalInGroups() {
        #expect(SecurityCode.text([0]) == "0")
        #expect(SecurityCode.text([1, 0]) == "256")
        #expect(SecurityCode.text([1, 0, 0, 0, 0]) == "42949 67296")
        #expect(
            SecurityCode.text([UInt8](repeating: 255, count: 32)).filter { $0 != " " }
                == "115792089237316195423570985008687907853269984665640564039457584007913129639935")
    }

    @Test func integrityReportsGapsAndRepetitions() {
        var sender = MessageSequence()
        var receiver = MessageSequence()
        _ = sender.send([0x49])
        receiver.receiveFirst([0x49])
        let previous = sender.lastSentHash
        _ = sender.send([1])
        #expect(receiver.receive([1], number: 2, previousHash: previous) == .complete)
        #expect(receiver.receive([1], number: 2, previousHash: previous) == .numberRepeated)
        #expect(receiver.receive([2], number: 3, previousHash: previous) == .wrongHash)
        #expect(receiver.receive([9], number: 9, previousHash: previous) == .skipped(4...8))
        sender.skip(to: 12)
        #expect(sender.next == 13)
        sender.skip(to: 3)
        sender.skip(to: .max)
        #expect(sender.next == 13)
    }
}
