import Base
import Cryptography
import TestSupport
import Testing

@testable import SMP

/// Encodes, authorises and decodes the published commands.
@Suite struct CommandVectorTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        let name: String
        let command: Command
        let entityID: [UInt8]
        let key: CommandKey?
        var version: UInt16 = 17

        var testDescription: String { name }
    }

    static func samples() throws -> [Sample] {
        let recipient = CommandKey.signing(try Known.signing(5))
        let sender = CommandKey.signing(try Known.signing(7))
        let agreement = CommandKey.agreement(try Known.agreement(6))
        func queue(_ mode: QueueMode, subscribes: Bool) throws -> Command {
            .new(
                Command.NewQueue(
                    recipientKey: recipient.publicKey, boxKey: try Known.agreement(1).publicKey,
                    subscribes: subscribes, mode: mode))
        }
        let (recipientID, senderID) = (Known.recipientID, Known.senderID)
        return [
            Sample(name: "PING", command: .ping, entityID: [], key: nil),
            Sample(
                name: "NEW_messaging_subscribe", command: try queue(.messaging, subscribes: true),
                entityID: [],
                key: recipient),
            Sample(
                name: "NEW_contact", command: try queue(.contact, subscribes: true), entityID: [],
                key: recipient),
            Sample(name: "SUB_ed25519", command: .subscribe, entityID: recipientID, key: recipient),
            Sample(
                name: "SUB_x25519_authenticator", command: .subscribe, entityID: recipientID, key: agreement),
            Sample(
                name: "SKEY", command: .senderKey(key: sender.publicKey), entityID: senderID, key: sender
            ),
            Sample(
                name: "KEY", command: .secure(senderKey: sender.publicKey), entityID: recipientID,
                key: recipient),
            Sample(
                name: "ACK", command: .acknowledge(messageID: Known.messageID), entityID: recipientID,
                key: recipient),
            Sample(
                name: "SEND_hello", command: .send(flags: Array("T".utf8), body: Array("hello".utf8)),
                entityID: senderID, key: sender),
            Sample(name: "DEL", command: .delete, entityID: recipientID, key: recipient),
            Sample(name: "OFF", command: .suspend, entityID: recipientID, key: recipient),
            Sample(name: "QUE", command: .queueInformation, entityID: recipientID, key: recipient),
            Sample(name: "LGET", command: .linkGet, entityID: senderID, key: nil),
            Sample(
                name: "LKEY", command: .linkKey(key: sender.publicKey), entityID: senderID, key: sender
            ),
            Sample(
                name: "SUB_v15_no_service_field", command: .subscribe, entityID: recipientID, key: recipient,
                version: 15),
            Sample(
                name: "SUB_x25519_v15", command: .subscribe, entityID: recipientID, key: agreement,
                version: 15),
        ]
    }

    @Test func everyPublishedCommandIsTested() throws {
        let names = try VectorValue.file("commands").members.keys.filter { $0 != "how" }
        #expect(Set(try Self.samples().map(\.name)) == Set(names))
    }

    @Test(arguments: try samples()) func commandsMatchTheVectors(sample: Sample) throws {
        let vector = try VectorValue.file("commands")[sample.name]
        let body = sample.command.encoded(version: sample.version)
        #expect(try body == vector["command"].bytes)
        #expect(Command(decoding: body, version: sample.version) == sample.command)
        #expect(Command(decoding: body + [0], version: sample.version) != sample.command)
        var transmission = Transmission(
            correlationID: Known.correlationID, entityID: sample.entityID, body: body)
        let signed = transmission.signedBytes(sessionID: Known.sessionID)
        #expect(try signed == vector["signed"].bytes)
        if let key = sample.key {
            transmission.authorization = try key.authorization(
                of: signed, correlationID: Known.correlationID, serverKey: Known.agreement(4).publicKey)
        }
        #expect(try transmission.authorization == vector["authorization"].bytes)
        let encoded = transmission.encoded(version: sample.version)
        #expect(try encoded == vector["transmission"].bytes)
        #expect(Transmission(decoding: encoded, version: sample.version) == transmission)
        let block = try #require(Padding.pad(Batch.encode([encoded]), to: TransportBlock.size))
        #expect(try vector["batch1"].describes(block, sha256: SHA256.hash))
        #expect(Padding.unpad(block).flatMap { Batch.decode($0) } == [encoded])
    }
}
