import Base
import Cryptography
import TestSupport
import Testing

@testable import Ratchet

/// Versions, the KEM and resynchronization.
@Suite struct NegotiationTests {
    @Test func versionIsHighestCommonAndRises() throws {
        var pair = try Pair(joiner: .init(maxVersion: 2), inviter: .init(maxVersion: 3))
        try pair.converse()
        #expect(pair.joiner.version == 2 && pair.inviter.version == 2)

        // The joiner's program is updated.
        pair = try Pair(joiner: .init(maxVersion: 2), inviter: .init(maxVersion: 3))
        var stored = pair.joiner.encoded.bytes
        stored[5] = 3
        pair.joiner = try Ratchet(decoding: WipedBytes(stored))
        try pair.converse()
        #expect(pair.inviter.version == 3)
        #expect(pair.joiner.version == 3)
        try pair.converse()
    }

    @Test func isPostQuantumIsFalseIfPeerHasNoKEM() throws {
        var pair = try Pair(
            joiner: .init(postQuantum: true), inviter: .init(postQuantum: false), kem: true)
        for _ in 0..<4 { try pair.converse() }
        #expect(pair.joiner.isPostQuantum == (false, false))
        #expect(pair.inviter.isPostQuantum == (false, false))
        #expect(MessageSize.message(pair.joiner) == 13_618 && MessageSize.message(pair.inviter) == 15_840)
        #expect(MessageSize.confirmation(pair.joiner) == 11_106)
        #expect(MessageSize.confirmation(pair.inviter) == 14_832)
    }

    /// The joiner accepts a proposed key at once, and proposes one otherwise.
    @Test(arguments: [true, false]) func bothSidesUseKEMEventually(proposing: Bool) throws {
        let wanting = RatchetSettings(postQuantum: true)
        var pair = try Pair(joiner: wanting, inviter: wanting, kem: true, proposing: proposing)
        #expect(pair.joiner.isPostQuantum.sending == proposing)
        let first = try pair.fromJoiner("1")
        #expect(try pair.toInviter(first) == "1")
        #expect(pair.inviter.isPostQuantum == (true, proposing))
        let second = try pair.fromInviter("2")
        #expect(try pair.toJoiner(second) == "2")
        #expect(pair.joiner.isPostQuantum == (true, true))
        for _ in 0..<5 { try pair.converse() }
        #expect(pair.inviter.isPostQuantum == (true, true))
    }

    @Test func userCanStopAndResumeKEM() throws {
        let wanting = RatchetSettings(postQuantum: true)
        var pair = try Pair(joiner: wanting, inviter: wanting, kem: true, proposing: true)
        try pair.converse()
        pair.joiner.wantsPostQuantum = false
        for _ in 0..<3 { try pair.converse() }
        #expect(pair.joiner.isPostQuantum == (false, false))
        #expect(pair.inviter.isPostQuantum == (false, false))
        pair.joiner.wantsPostQuantum = true
        for _ in 0..<4 { try pair.converse() }
        #expect(pair.joiner.isPostQuantum == (true, true))
        #expect(pair.inviter.isPostQuantum == (true, true))
    }

    @Test func missingKEMIsReportedWithoutLoss() throws {
        let wanting = RatchetSettings(postQuantum: true)
        var pair = try Pair(joiner: wanting, inviter: wanting, kem: true, proposing: true)
        try pair.converse()
        let message = try pair.fromJoiner("protected")
        let before = pair.inviter.encoded
        expect(.kemUnavailable) { try pair.inviter.decrypt(message, tools: RatchetTools()) }
        #expect(pair.inviter.encoded == before)
        #expect(try pair.toInviter(message) == "protected", "when it is installed again")
    }

    @Test func acceptedKEMWithoutProposalIsRejected() throws {
        let random = SeededKeys(5)
        let kem = ToyKEM(random: random)
        let tools = RatchetTools(random: random, kem: kem)
        let offer = try AgreementKeys.generate(kem: kem.generate(), random: random).parameters(version: 3)
        let joined = try Ratchet.joining(
            .generate(random: random), inviter: offer, settings: .init(postQuantum: true), tools: tools)
        expect(.malformed) {
            try Ratchet.inviting(
                .generate(random: random), joiner: joined.parameters, settings: .init(), tools: tools)
        }
    }

    /// One side restored a backup. Both give new keys and continue.
    @Test(arguments: [UInt64(1), 2, 3, 4], [true, false])
    func divergedSidesResynchronize(seed: UInt64, postQuantum: Bool) throws {
        let settings = RatchetSettings(postQuantum: postQuantum)
        let random = SeededKeys(seed)
        let tools = RatchetTools(random: random, kem: postQuantum ? ToyKEM(random: random) : nil)
        let keys = try (0..<2).map { _ in
            AgreementKeys.generate(kem: try tools.kem?.generate(), random: random)
        }
        var sides = try (0..<2).map { side in
            try Ratchet.agreeingAnew(
                keys[side], peer: keys[1 - side].parameters(version: 3), settings: settings, tools: tools)
        }
        let begins = try #require(sides.indices.first { sides[$0].sending != nil })
        #expect(sides[1 - begins].sending == nil, "one of them waits")
        for round in 0..<8 {
            let (from, to) = round % 2 == 0 ? (begins, 1 - begins) : (1 - begins, begins)
            let message = try sides[from].encrypt([UInt8(round)], paddedTo: 100)
            #expect(try sides[to].decrypt(message, tools: tools) == [UInt8(round)])
        }
        for side in sides { #expect(side.isPostQuantum == (postQuantum, postQuantum)) }
    }

    @Test func equalHashesGiveInviterRole() throws {
        let keys = try Known.inviter()
        let ratchet = try Ratchet.agreeingAnew(
            keys, peer: keys.parameters(version: 3), settings: .init(), tools: RatchetTools())
        #expect(ratchet.sending == nil)
    }
}
