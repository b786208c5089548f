import Base
import Cryptography
import Ratchet
import SMP

@testable import Agent

extension Target {
    /// Transmissions of two agents.
    static let agent = [
        Target("agent-envelope", "what lies in the box of a queue", longest: 4096) { bytes in
            if let envelope = AgentEnvelope(decoding: bytes) {
                hold(AgentEnvelope(decoding: envelope.encoded) == envelope, "a written envelope is the same")
                hold(envelope.encoded.count <= bytes.count, "what is read was there")
            }
        },
        Target("agent-message", "what agents say to each other, decrypted", longest: 4096) { bytes in
            if let message = AgentMessage(decoding: bytes) {
                hold(AgentMessage(decoding: message.encoded) == message, "a written message is the same")
            }
            let content = MessageContent(decoding: bytes)
            hold(MessageContent(decoding: content.encoded) == content, "a written content is the same")
        },
        Target("agent-machine", "what senders put into the box of a queue", longest: 768) { bytes in
            var input = Input(bytes)
            let choice = input.byte()
            var (phase, machine) = AgentFixture.machines[Int(choice) % AgentFixture.machines.count]
            for place in 0..<8 where !input.isAtEnd {
                let envelope = input.take(Int(input.byte()) << 8 & 0x300 | Int(input.byte()))
                // Mostly without the box: one of 16 KiB takes longer than the rest.
                if place == 0, choice >= 0xE0, let body = AgentFixture.body(envelope) {
                    let message = DeliveredBody.message(received: 1, flags: [], body: body)
                    try? machine.receive(message, at: 0, now: ElapsedTime(seconds: 1)) { _ in false }
                } else if let content = AgentEnvelope(decoding: envelope) {
                    try? machine.receive(
                        content, senderKey: AgentFixture.senderKey, received: .init(seconds: 1),
                        body: envelope, at: 0, now: ElapsedTime(seconds: 1)
                    ) { _ in false }
                }
            }
            hold(machine.state.phase == phase, "nobody connects by chance")
            hold(machine.state.ratchet == nil, "nor has keys")
        },
    ]
}

/// A connection of each kind, and a sender who knows its queue.
private enum AgentFixture {
    private static let tools = AgentTools(ratchet: RatchetTools(), settings: .init())
    private static let sender = AgreementKey.generate()
    static let senderKey = sender.publicKey
    private static let queueKey = [UInt8](repeating: 3, count: 32)

    static let machines = [ConnectionCondition.Phase.inviting, .address, .requesting, .joining].map { phase in
        guard let machine = Self.machine(phase) else { fatalError("a connection can be made") }
        return (phase, machine)
    }

    private static func machine(_ phase: ConnectionCondition.Phase) -> ConnectionMachine? {
        guard
            let server = ServerAddress(
                fingerprint: [UInt8](repeating: 1, count: 32), hosts: ["localhost"], port: 5223),
            let box = try? AgreementKey(rawValue: queueKey)
        else { return nil }
        let queue = ReceivingQueue(
            server: server, mode: phase == .address ? .contact : .messaging, status: .active,
            authorizationSeed: queueKey, boxKey: queueKey, queueKey: queueKey, recipientID: [1],
            senderID: [2], serverBoxKey: box.publicKey)
        var state = ConnectionState(phase: phase, information: [], receiving: [queue])
        state.offeredKeys = keys
        return ConnectionMachine(state, tools: tools)
    }

    private static let keys = AgreementKeys.generate()

    private static let secret: WipedBytes = {
        guard let box = try? AgreementKey(rawValue: queueKey),
            let secret = try? sender.wipedSecret(with: box.publicKey)
        else { fatalError("two keys agree") }
        return secret
    }()

    static func body(_ envelope: [UInt8]) -> [UInt8]? {
        try? QueueMessage(
            sealing: .init(envelope: envelope), version: 4, senderKey: sender.publicKey, secret: secret,
            nonce: [UInt8](repeating: 4, count: 24)
        ).encoded
    }
}
