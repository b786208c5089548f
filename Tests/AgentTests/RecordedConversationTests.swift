import Base
import Cryptography
import Ratchet
import SMP
import TestSupport
import Testing

@testable import Agent

/// Two recorded connections with the official program, replayed through a machine.
@Suite struct RecordedConversationTests {
    private final class RecordedKeys: RandomSource {
        private let keys: Lock<[[UInt8]]>

        init(_ keys: [[UInt8]]) { self.keys = Lock(keys) }

        /// Returns recorded ratchet keys; other keys do not matter.
        func bytes(_ count: Int) -> [UInt8] {
            guard count == X448Key.length else { return SystemRandomSource().bytes(count) }
            return keys.withLock { $0.removeFirst() }
        }
    }

    /// A connection before the peer's first message.
    private static func machine(_ name: String, _ vector: VectorValue) throws -> ConnectionMachine {
        let privates = try vector["ratchet_dh_privates"].list.map { try $0.bytes }
        let tools = AgentTools(ratchet: RatchetTools(random: RecordedKeys(privates)), settings: .init())
        let ours = AgreementKeys(
            first: try X448Key(rawValue: WipedBytes(vector["x3dh_private_1"].bytes)),
            second: try X448Key(rawValue: WipedBytes(vector["x3dh_private_2"].bytes)))
        let queue = ReceivingQueue(
            server: try Known.server(), mode: .messaging, status: .active,
            authorizationSeed: [UInt8](repeating: 1, count: 32), boxKey: try vector["rcvDhPrivate"].bytes,
            queueKey: try vector["queuePrivate"].bytes, recipientID: [1], senderID: [2],
            serverBoxKey: try serverKey(vector["serverDhPublic"].bytes))
        let joins = name == "we_join"
        var state = ConnectionState(phase: joins ? .joining : .inviting, information: [], receiving: [queue])
        guard joins else {
            state.offeredKeys = ours
            return ConnectionMachine(state, tools: tools)
        }
        let request = try ConnectionRequest(link: vector["link"].text)
        guard case .invitation(let offer) = request.kind else { throw WaitedInVain("an invitation") }
        let inviter = AgreementParameters(
            version: offer.versions.upperBound, first: offer.first, second: offer.second)
        state.ratchet = try Ratchet.joining(ours, inviter: inviter, settings: .init(), tools: tools.ratchet)
            .ratchet
        return ConnectionMachine(state, tools: tools)
    }

    /// SubjectPublicKeyInfo of a raw X25519 key.
    private static func serverKey(_ raw: [UInt8]) throws -> [UInt8] {
        Array(try AgreementKey(rawValue: [UInt8](repeating: 1, count: 32)).publicKey.prefix(12)) + raw
    }

    @Test(arguments: ["we_join", "we_invite"]) func recordedMessagesAreInterpreted(name: String) throws {
        let vector = try VectorValue.file("recorded")[name]
        var machine = try Self.machine(name, vector)
        var hashes: Set<[UInt8]> = []
        var bodies: [[UInt8]] = []
        for recorded in try vector["received"].list {
            guard case .message(let id, let box)? = Answer(decoding: try recorded["MSG"].bytes, version: 17)
            else {
                Issue.record("a message is none")
                return
            }
            let body = try machine.state.receiving[0].open(box, messageID: id)
            let before = machine.effects.count
            try machine.receive(body, at: 0, now: ElapsedTime(seconds: 0)) { hashes.contains($0) }
            for effect in machine.effects.dropFirst(before) {
                switch effect {
                case .remember(let hash): hashes.insert(hash)
                case .deliver(let message, let number, let hash):
                    #expect(message.integrity == .complete)
                    #expect(try Int(number) == recorded["agent_msg_id"].number)
                    #expect(try hash == recorded["message_hash"].bytes)
                    #expect(try [UInt8(ascii: "M")] + message.body == recorded["inner_hex"].bytes)
                    bodies.append(message.body)
                case .delivered(let receipt):
                    #expect(try MessageContent.receipts([receipt]).encoded == recorded["inner_hex"].bytes)
                case .introduced: break
                // The first message shows that the inviter's confirmation was accepted.
                case .tell(.connected([])): #expect(name == "we_invite")
                case .tell(.connected(let information)):
                    #expect(try [UInt8(ascii: "I")] + information == recorded["inner_hex"].bytes)
                case .tell(.connecting(let information)):
                    #expect(try information == recorded["info_hex"].bytes)
                case .send(let item): #expect(item.kind == .confirmation)
                default: Issue.record("nothing else happens: \(effect)")
                }
            }
            // A redelivery after a lost `ACK` has no effect.
            let after = machine.effects.count
            try machine.receive(body, at: 0, now: ElapsedTime(seconds: 0)) { hashes.contains($0) }
            #expect(machine.effects.count == after)
            #expect(machine.state.synchronisation.phase == .synchronised)
        }
        #expect(bodies.count >= 2)
        #expect(machine.state.phase == .connected)
        #expect(machine.state.ratchet?.securityHash.count == 32)
    }
}
