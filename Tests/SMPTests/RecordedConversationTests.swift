import Base
import Cryptography
import Ratchet
import TestSupport
import Testing

@testable import SMP

/// Replays two recorded connections with the official program: each message passes the server's box, the queue's box
/// and the ratchet.
@Suite struct RecordedConversationTests {
    /// The parts of an envelope that this test needs. The agent layer reads the rest.
    private struct Envelope {
        let letter: Character
        var parameters: AgreementParameters?
        let message: [UInt8]

        init(_ bytes: [UInt8]) throws {
            var reader = ByteReader(bytes)
            let number = reader.integer(UInt16.self)
            let version = try #require(number)
            #expect(SMPVersion.agents.contains(version))
            let byte = reader.byte()
            letter = Character(UnicodeScalar(try #require(byte)))
            if letter == "C" {
                switch reader.byte() {
                case UInt8(ascii: "1"): parameters = try AgreementParameters(from: &reader)
                case UInt8(ascii: "0"): break
                default: Issue.record("a confirmation says whether it has keys")
                }
            }
            message = reader.rest()
        }
    }

    private final class RecordedKeys: RandomSource {
        private let keys: Lock<[[UInt8]]>

        init(_ keys: [[UInt8]]) { self.keys = Lock(keys) }

        func bytes(_ count: Int) -> [UInt8] { keys.withLock { $0.removeFirst() } }
    }

    @Test(arguments: ["we_join", "we_invite"]) func recordedMessagesAreDecrypted(name: String) throws {
        let vector = try VectorValue.file("recorded")[name]
        let tools = RatchetTools(
            random: RecordedKeys(try vector["ratchet_dh_privates"].list.map { try $0.bytes }))
        let ours = AgreementKeys(
            first: try X448Key(rawValue: WipedBytes(vector["x3dh_private_1"].bytes)),
            second: try X448Key(rawValue: WipedBytes(vector["x3dh_private_2"].bytes)))
        let link = try ConnectionRequest(link: vector["link"].text)
        guard case .invitation(let offer) = link.kind else {
            Issue.record("the link is no invitation")
            return
        }
        let inviter = AgreementParameters(
            version: offer.versions.upperBound, first: offer.first, second: offer.second)
        var ratchet: Ratchet?
        if name == "we_join" {
            ratchet = try Ratchet.joining(ours, inviter: inviter, settings: .init(), tools: tools).ratchet
        } else {
            #expect(offer.first == ours.first.publicKey && offer.second == ours.second.publicKey)
        }
        let serverKey = try KeyForms.x25519(vector["serverDhPublic"].bytes)
        let serverSecret = try AgreementKey(rawValue: vector["rcvDhPrivate"].bytes).wipedSecret(
            with: serverKey)
        let queueKey = try AgreementKey(rawValue: vector["queuePrivate"].bytes)
        var queueSecret: WipedBytes?
        var lastID: Int64 = 1

        for recorded in try vector["received"].list {
            guard case .message(let id, let box)? = Answer(decoding: try recorded["MSG"].bytes, version: 17),
                case .message(_, _, let body) = try DeliveredBody(
                    opening: box, messageID: id, secret: serverSecret)
            else {
                Issue.record("a message is none")
                return
            }
            let message = try QueueMessage(decoding: body)
            if let key = message.senderKey { queueSecret = try queueKey.wipedSecret(with: key) }
            let envelope = try Envelope(message.open(secret: #require(queueSecret)).envelope)
            let isConfirmation = try recorded["kind"].text == "conf"
            #expect(envelope.letter == (isConfirmation ? "C" : "M"))
            if let parameters = envelope.parameters {
                ratchet = try Ratchet.inviting(ours, joiner: parameters, settings: .init(), tools: tools)
            }
            // Through the stored form at each step.
            var stored = try Ratchet(decoding: #require(ratchet).encoded)
            let text = try stored.decrypt(envelope.message, tools: tools)
            #expect(throws: RatchetError.self) { try stored.decrypt(envelope.message, tools: tools) }
            ratchet = stored
            if isConfirmation {
                try check(confirmation: text, recorded)
            } else {
                lastID += 1
                try check(message: text, number: lastID, recorded)
            }
        }
        #expect(lastID > 4)
    }

    /// `I` and the inviter's information, or `D`, the reply queue and the joiner's information.
    private func check(confirmation text: [UInt8], _ recorded: VectorValue) throws {
        if let whole = try? recorded["inner_hex"] {
            #expect(try text == whole.bytes)
            return
        }
        var reader = ByteReader(text)
        #expect(reader.byte() == UInt8(ascii: "D"))
        let list = reader.list { $0.replyQueue() }
        let queues = try #require(list)
        #expect(queues.count == 1 && queues[0].version == 4 && queues[0].address.mode == .messaging)
        #expect(try reader.rest() == recorded["info_hex"].bytes)
    }

    private func check(message text: [UInt8], number: Int64, _ recorded: VectorValue) throws {
        #expect(try SHA256.hash(text) == recorded["message_hash"].bytes)
        var reader = ByteReader(text)
        #expect(reader.byte() == UInt8(ascii: "M"))
        let sent = reader.integer(Int64.self)
        #expect(sent == number)
        #expect(try Int(number) == recorded["agent_msg_id"].number)
        #expect(reader.byteString()?.count == 32)
        #expect(try reader.rest() == recorded["inner_hex"].bytes)
    }
}

/// Public keys from their raw bytes.
private enum KeyForms {
    static func x25519(_ raw: [UInt8]) throws -> [UInt8] {
        Array(try AgreementKey(rawValue: [UInt8](repeating: 1, count: 32)).publicKey.prefix(12)) + raw
    }
}
