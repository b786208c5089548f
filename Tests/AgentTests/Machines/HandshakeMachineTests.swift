import Base
import Cryptography
import Ratchet
import SMP
import TestSupport
import Testing

@testable import Agent

/// Successful and failing handshakes.
@Suite struct HandshakeMachineTests {
    private static func request(
        agents: ClosedRange<UInt16> = SMPVersion.agents, queues: ClosedRange<UInt16> = SMPVersion.queues,
        ratchets: ClosedRange<UInt16> = RatchetVersion.supported, mode: QueueMode = .messaging,
        isContact: Bool = false
    ) throws -> ConnectionRequest {
        let random = SeededBytes(3)
        let keys = AgreementKeys.generate(random: random)
        let address = try #require(
            QueueAddress(
                server: Known.server(1), senderID: random.bytes(24),
                key: AgreementKey(rawValue: random.bytes(32)).publicKey, mode: mode))
        let offer = ConnectionRequest.EncryptionOffer(
            versions: ratchets, first: keys.first.publicKey, second: keys.second.publicKey)
        return try #require(
            ConnectionRequest(
                kind: isContact ? .contact : .invitation(offer), agentVersions: agents,
                queues: [OfferedQueue(versions: queues, address: address)]))
    }

    private static func join(_ request: ConnectionRequest) throws -> ConnectionState {
        try ConnectionMachine.joining(
            request, server: Known.server(2), information: [],
            key: JoiningKey(seed: [UInt8](repeating: 4, count: 32)), tools: MachineSide.tools(seed: 4))
    }

    private static func ask(_ request: ConnectionRequest) throws -> ConnectionState {
        try ConnectionMachine.requesting(
            request, server: Known.server(2), confirmation: bytes("me"), tools: MachineSide.tools(seed: 4))
    }

    @Test func versionNegotiationHandlesBounds() throws {
        #expect(try Self.join(Self.request(agents: 2...6)).agentVersion == 6)
        #expect(try Self.join(Self.request(agents: 7...99)).agentVersion == 7)
        #expect(try Self.join(Self.request(queues: 1...3)).present?.version == 3)
        #expect(try Self.join(Self.request(queues: 4...9)).present?.version == 4)
        _ = try Self.join(Self.request(ratchets: 3...9))
        _ = try Self.join(Self.request(ratchets: 1...2))
        let refused = try [
            Self.request(agents: 2...5), Self.request(agents: 8...9), Self.request(queues: 1...2),
            Self.request(queues: 5...9), Self.request(ratchets: 1...1), Self.request(ratchets: 4...5),
            Self.request(mode: .contact), Self.request(isContact: true),
        ]
        for request in refused {
            let error = #expect(throws: AgentError.self) { try Self.join(request) }
            #expect(error?.code == .unusableLink && error?.sentence == Handshake.unsupported.sentence)
        }
    }

    @Test func requestingRequiresContactAddress() throws {
        let state = try Self.ask(Self.request(mode: .contact, isContact: true))
        #expect(state.phase == .requesting && state.present?.use == .request)
        #expect(state.present?.isSecured == true && state.offeredKeys != nil)
        let queue = try #require(state.receiving.first)
        #expect(state.receiving.count == 1 && queue.status == .creating && queue.mode == .messaging)
        for request in try [
            Self.request(), Self.request(agents: 2...5, isContact: true),
            Self.request(queues: 5...6, isContact: true),
        ] {
            let error = #expect(throws: AgentError.self) { try Self.ask(request) }
            #expect(error?.code == .unusableLink && error?.sentence == Handshake.unsupported.sentence)
        }
    }

    @Test func queueSecuredByLinkIsNotSecuredAgain() throws {
        let seed = [UInt8](repeating: 6, count: 32)
        for isSecured in [true, false] {
            let state = try ConnectionMachine.joining(
                Self.request(), server: Known.server(2), information: [],
                key: JoiningKey(seed: seed, isSecured: isSecured), tools: MachineSide.tools(seed: 4))
            #expect(state.present?.isSecured == isSecured && state.present?.authorizationSeed == seed)
        }
    }

    @Test func joinerConnectsBeforeInviter() throws {
        var pair = try MachinePair()
        let first = try pair.fromJoiner()
        #expect(first.map(\.kind) == [.confirmation] && pair.joiner.state.phase == .joining)
        try pair.inviter.take(first[0])
        #expect(pair.inviter.events == [.connecting(information: bytes("joiner"))])
        #expect(pair.inviter.state.phase == .confirming)
        // The link's keys are used up; a second joiner cannot use them.
        #expect(pair.inviter.state.offeredKeys == nil && pair.inviter.state.request == nil)
        let second = try pair.fromInviter()
        #expect(pair.inviter.events.last == .connected(information: []))
        try pair.joiner.take(second[0])
        #expect(pair.joiner.events == [.connected(information: bytes("inviter"))])
        #expect(pair.joiner.state.joinersParameters == nil)
        try pair.converse("first")
        #expect(pair.inviter.state.sequence.lastReceived == 2 && pair.inviter.state.sequence.lastSent == 2)
    }

    @Test func peersMessageReplacesLostConfirmationReply() throws {
        var pair = try MachinePair()
        for transmission in try pair.fromJoiner() { try pair.inviter.take(transmission) }
        // Sent, without a reply of the server.
        let before = pair.inviter
        for transmission in try pair.fromInviter() { try pair.joiner.take(transmission) }
        var waiting = before
        try waiting.step { _ = try $0.prepare(.confirmation, content: bytes("inviter")) }
        pair.joiner.write("here")
        for transmission in try pair.fromJoiner() {
            let effects = try waiting.take(transmission)
            #expect(effects.first == .introduced)
        }
        #expect(waiting.state.phase == .connected && waiting.bodies == ["here"])
        #expect(waiting.waiting.isEmpty, "the confirmation is not sent again")
        #expect(waiting.events.suffix(1) == [.connected(information: [])])
    }

    @Test func repeatedConfirmationIsIgnored() throws {
        var pair = try MachinePair()
        let first = try pair.fromJoiner()
        try pair.inviter.take(first[0])
        let second = try pair.fromInviter()
        try pair.joiner.take(second[0])
        #expect(try pair.inviter.take(first[0]).isEmpty)
        #expect(try pair.joiner.take(second[0]).isEmpty)
        try pair.converse("after")
    }

    @Test func secondJoinerIsIgnored() throws {
        var pair = try MachinePair(seed: 1)
        // Two people opened the same link.
        let other = MachineSide.tools(seed: 77)
        let request = try #require(pair.inviter.state.request)
        var second = MachineSide(
            try ConnectionMachine.joining(
                request, server: Known.server(4), information: bytes("stranger"),
                key: JoiningKey(seed: other.random.bytes(32)), tools: other), tools: other)
        try second.serve()
        try pair.exchange()
        let late = try #require(try second.transmit())
        #expect(try pair.inviter.take(late).isEmpty)
        try pair.converse("undisturbed")
    }

    @Test func incompatibleJoinerFailsConnection() throws {
        let key = try AgreementKey(rawValue: [UInt8](repeating: 7, count: 32)).publicKey
        let neutral = Array(key.dropLast(32)) + [UInt8](repeating: 0, count: 32)
        // The joiner's agent version and queue.
        let answers: [(agent: UInt16, queue: UInt16, key: [UInt8], mode: QueueMode, isGood: Bool)] = [
            (5, 4, key, .messaging, false), (6, 3, key, .messaging, true), (6, 2, key, .messaging, false),
            (9, 4, key, .messaging, true), (7, 4, key, .contact, false), (7, 4, neutral, .messaging, false),
        ]
        for answer in answers {
            var pair = try MachinePair()
            let address = try #require(
                QueueAddress(server: Known.server(2), senderID: [8], key: answer.key, mode: answer.mode))
            let message = AgentMessage.joined(
                queues: [ReplyQueue(version: answer.queue, address: address)], information: bytes("joiner"))
            let state = pair.joiner.state
            var ratchet = try #require(state.ratchet)
            let sealed = try ratchet.encrypt(message.encoded, paddedTo: MessageSize.confirmation(ratchet))
            let envelope = AgentEnvelope(
                version: answer.agent, .confirmation(parameters: state.joinersParameters, message: sealed))
            let queue = try #require(state.present)
            let body = try queue.body(
                of: envelope.encoded, isFirst: true, nonce: [UInt8](repeating: 1, count: 24))
            try pair.inviter.take(
                Transmission(
                    kind: .confirmation, location: queue.address.location,
                    body: .message(received: 1, flags: [], body: body)))
            if answer.isGood {
                #expect(pair.inviter.state.phase == .confirming)
                #expect(pair.inviter.state.agentVersion == min(answer.agent, 7))
                #expect(pair.inviter.state.present?.version == answer.queue)
            } else {
                #expect(pair.inviter.state.phase == .failed)
                #expect(pair.inviter.events == [.connectionFailed(.incompatible)])
                #expect(pair.inviter.state.sending.isEmpty)
            }
        }
    }

    @Test func addressRequestIsReportedOnce() throws {
        let tools = MachineSide.tools(seed: 9)
        var owner = MachineSide(
            ConnectionState(
                phase: .address, information: [],
                receiving: [.fresh(server: try Known.server(1), mode: .contact, random: tools.random)]),
            tools: tools)
        try owner.serve()
        let guestTools = MachineSide.tools(seed: 10)
        var guest = MachineSide(
            try ConnectionMachine.requesting(
                try #require(owner.state.request), server: Known.server(2), confirmation: bytes("guest"),
                tools: guestTools), tools: guestTools)
        try guest.serve()
        let link = try #require(guest.state.request).link
        guest.say(.hello)
        #expect(try guest.transmit() == nil, "there is no ratchet before the request is accepted")
        guest.forgetWhatWaits()
        let location = try #require(owner.state.receiving[0].address).location
        var machine = guest.machine
        let prepared = try machine.prepare(.request, content: bytes("may I?"))
        let queue = try #require(guest.state.present)
        let request = Transmission(
            kind: .request, location: location,
            body: .message(
                received: 1, flags: [],
                body: try queue.body(of: prepared.envelope, isFirst: true, nonce: prepared.nonce)))
        let effects = try owner.take(request)
        #expect(effects.contains(.request(link: link, information: bytes("may I?"))))
        #expect(try owner.take(request).isEmpty)
        var deleted = owner
        deleted.step { $0.delete(afterSending: false) }
        var another = request
        another.body = .message(
            received: 2, flags: [],
            body: try queue.body(
                of: prepared.envelope, isFirst: true, nonce: [UInt8](repeating: 5, count: 24)))
        #expect(try deleted.take(another).isEmpty)
        #expect(try !owner.take(another).isEmpty, "the same person in another message asks again")
    }
}
