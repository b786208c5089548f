import Base
import Cryptography
import Ratchet
import SMP
import TestSupport
import Testing

@testable import Agent

/// Deliveries that are reordered, repeated, damaged or forged.
@Suite struct ReceivingMachineTests {
    private static func damage(_ transmission: Transmission, at place: Int) throws -> Transmission {
        guard case .message(let time, let flags, var body) = transmission.body else {
            throw WaitedInVain("a message")
        }
        body[place] ^= 1
        var damaged = transmission
        damaged.body = .message(received: time, flags: flags, body: body)
        return damaged
    }

    /// Whether two sides are equal except for remembered hashes.
    private static func isSame(_ one: MachineSide, _ other: MachineSide) -> Bool {
        one.condition == other.condition && one.events == other.events && one.received == other.received
            && one.waiting == other.waiting && one.state.sequence == other.state.sequence
            && one.state.ratchet?.encoded.bytes == other.state.ratchet?.encoded.bytes
            && one.state.receiving == other.state.receiving && one.state.sending == other.state.sending
    }

    @Test func damagedDeliveryChangesNothing() throws {
        var pair = try MachinePair.connected()
        pair.joiner.write("whole")
        let sent = try pair.fromJoiner()[0]
        guard case .message(_, _, let body) = sent.body else { return }
        let before = pair.inviter
        var random = SeededGenerator(state: 4)
        // Only the queue's version lies outside the box's tag.
        let places = Array(3..<60) + (0..<60).map { _ in Int.random(in: 60..<body.count, using: &random) }
        for place in places {
            #expect(try pair.inviter.take(Self.damage(sent, at: place)).isEmpty, "\(place)")
            #expect(Self.isSame(pair.inviter, before), "\(place)")
        }
        for count in [0, 1, 2, 3, 26, 27, 42, 43, body.count - 1] {
            var cut = sent
            cut.body = .message(received: 1, flags: [], body: Array(body.prefix(count)))
            #expect(try pair.inviter.take(cut).isEmpty, "\(count)")
        }
        #expect(Self.isSame(pair.inviter, before))
        try pair.inviter.take(sent)
        #expect(pair.inviter.bodies == ["whole"] && pair.inviter.received[0].integrity == .complete)
    }

    @Test func boxWithForeignKeyIsIgnored() throws {
        var pair = try MachinePair.connected()
        let address = try #require(pair.joiner.state.present).address
        var stranger = SendingQueue.fresh(address, version: 4, use: .present, random: SeededBytes(1))
        stranger.isSecured = true
        let before = pair.inviter
        for content in [
            AgentEnvelope.Content.message([1, 2, 3]), .confirmation(parameters: nil, message: [1]),
            .keys(AgreementKeys.generate(random: SeededBytes(2)).parameters(version: 3), information: []),
            .invitation(link: "simplex:/contact", information: []),
        ] {
            for isFirst in [true, false] {
                let body = try stranger.body(
                    of: AgentEnvelope(version: 7, content).encoded, isFirst: isFirst,
                    nonce: [UInt8](repeating: 3, count: 24))
                let effects = try pair.inviter.take(
                    Transmission(
                        kind: .message, location: address.location,
                        body: .message(received: 1, flags: [], body: body)))
                #expect(effects.isEmpty && Self.isSame(pair.inviter, before))
            }
        }
        try pair.converse("undisturbed")
    }

    @Test func messagesBeforeConfirmationAreIgnored() throws {
        let pair = try MachinePair()
        let address = try #require(pair.joiner.state.present).address
        let stranger = SendingQueue.fresh(address, version: 4, use: .present, random: SeededBytes(1))
        for content in [
            AgentEnvelope.Content.message([1, 2, 3]),
            .keys(AgreementKeys.generate(random: SeededBytes(2)).parameters(version: 3), information: []),
        ] {
            var inviter = pair.inviter
            let body = try stranger.body(
                of: AgentEnvelope(version: 7, content).encoded, isFirst: true,
                nonce: [UInt8](repeating: 3, count: 24))
            let effects = try inviter.take(
                Transmission(
                    kind: .message, location: address.location,
                    body: .message(received: 1, flags: [], body: body)))
            #expect(effects.isEmpty && Self.isSame(inviter, pair.inviter))
        }
    }

    @Test(arguments: 1...6) func reorderedAndRepeatedMessagesAreReadOnce(seed: UInt64) throws {
        var pair = try MachinePair.connected(seed: seed)
        var random = SeededGenerator(state: seed)
        var expected: Set<String> = []
        for round in 0..<5 {
            for number in 0..<6 {
                pair.joiner.write("\(round) \(number)")
                expected.insert("\(round) \(number)")
            }
            let sent = try pair.fromJoiner()
            for transmission in (sent + sent).shuffled(using: &random) { try pair.inviter.take(transmission) }
            pair.inviter.write("\(round)")
            for transmission in try pair.fromInviter() { try pair.joiner.take(transmission) }
        }
        #expect(pair.inviter.bodies.count == expected.count && Set(pair.inviter.bodies) == expected)
        #expect(pair.joiner.bodies == (0..<5).map { "\($0)" })
        #expect(pair.inviter.condition.synchronisation == .synchronised)
    }

    @Test func missingMessagesAreReported() throws {
        var pair = try MachinePair.connected()
        for number in 1...5 { pair.joiner.write("\(number)") }
        let sent = try pair.fromJoiner()
        for place in [0, 3, 1, 4] { try pair.inviter.take(sent[place]) }
        // The confirmation was the first message, number 1.
        #expect(
            pair.inviter.received.map(\.integrity) == [
                .complete, .skipped(3...4), .numberRepeated, .skipped(4...5),
            ])
    }

    @Test func drainedQueueIsAnnouncedAfterQuota() throws {
        var pair = try MachinePair.connected()
        let location = try #require(pair.inviter.state.receiving[0].address).location
        let full = Transmission(kind: .message, location: location, body: .quota(received: 5))
        try pair.inviter.take(full)
        #expect(pair.inviter.waiting == [.message(.queueContinue(location))])
        let told = try pair.fromInviter()
        #expect(try pair.joiner.take(told[0]).contains(.tryAgain))

        var beginning = try MachinePair().inviter
        let place = try #require(beginning.state.receiving[0].address).location
        let effects = try beginning.take(
            Transmission(kind: .message, location: place, body: .quota(received: 5)))
        #expect(effects.isEmpty, "there is nobody to be told")
    }

    @Test func receiptsAreReportedAndUnknownContentIgnored() throws {
        var pair = try MachinePair.connected()
        let receipts = (1...3).map {
            MessageContent.Receipt(number: Int64($0), hash: SHA256.hash([UInt8($0)]))
        }
        pair.joiner.say(.receipts(receipts))
        pair.joiner.say(.unknown(bytes("Z of a later version")))
        pair.joiner.say(.hello)
        pair.joiner.say(.queueTest([try #require(pair.joiner.state.present).address.location]))
        pair.joiner.write("and on")
        for transmission in try pair.fromJoiner() { try pair.inviter.take(transmission) }
        #expect(pair.inviter.receipts == receipts)
        #expect(pair.inviter.bodies == ["and on"] && pair.inviter.received[0].integrity == .complete)
        #expect(pair.inviter.waiting.isEmpty && pair.inviter.conditions.isEmpty)
    }

    @Test func agreedVersionNeverDecreases() throws {
        var pair = try MachinePair.connected()
        pair.inviter.change { $0.state.agentVersion = 6 }
        try pair.converse("with the sender's own highest version")
        #expect(pair.inviter.state.agentVersion == 7)
        let queue = try #require(pair.joiner.state.present)
        var ratchet = try #require(pair.joiner.state.ratchet)
        for (version, expected) in [(UInt16(2), UInt16(7)), (200, 7)] {
            let message = AgentMessage.numbered(9, previousHash: [], .hello).encoded
            let sealed = try ratchet.encrypt(message, paddedTo: MessageSize.message(ratchet))
            let body = try queue.body(
                of: AgentEnvelope(version: version, .message(sealed)).encoded, isFirst: false,
                nonce: [UInt8](repeating: UInt8(version), count: 24))
            try pair.inviter.take(
                Transmission(
                    kind: .message, location: queue.address.location,
                    body: .message(received: 1, flags: [], body: body)))
            #expect(pair.inviter.state.agentVersion == expected)
        }
    }
}
