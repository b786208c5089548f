import Base
import Cryptography
import Ratchet
import SMP
import Store
import Testing

@testable import Agent

/// Conversion of lower-layer errors for the caller.
@Suite struct ErrorWordsTests {
    private static let table: [(SMPErrorCode, AgentErrorCode)] = [
        (.malformedLink, .unusableLink), (.unsupportedLink, .unusableLink), (.wrongLinkData, .unusableLink),
        (.tooLong, .tooLong), (.server(.authorization), .serverRefused),
        (.server(.quota), .serverUnreachable),
        (.server(.internalError), .serverUnreachable), (.server(.blocked(reason: "x")), .serverRefused),
        (.malformed, .serverRefused), (.notAuthentic, .serverRefused), (.unreachable, .serverUnreachable),
        (.timedOut, .serverUnreachable), (.disconnected, .serverUnreachable),
        (.wrongIdentity, .serverUnreachable), (.unsupportedVersion, .serverUnreachable),
    ]

    @Test(arguments: table.indices) func serverErrorKeepsSentenceAndGetsCode(row: Int) {
        let (code, expected) = Self.table[row]
        let error = AgentError(wrapping: SMPError(code, "It did not work."))
        #expect(error.code == expected && error.sentence == "It did not work.")
        #expect((error.cause as? SMPError)?.code == code)
    }

    /// Key errors are not store errors, and mean damage only for stored keys.
    @Test func ratchetErrorIsNotReportedAsStoreError() {
        let codes: [RatchetErrorCode] = [
            .malformed, .headerNotAuthentic, .bodyNotAuthentic, .repeated, .tooOld, .tooManySkipped,
            .unsupportedVersion, .invalidKey, .notReady, .tooLong, .exhausted, .kemUnavailable, .invalidState,
        ]
        for code in codes {
            let error = AgentError(wrapping: RatchetError(code, "libgcrypt refused a step."))
            #expect(error.code == (code == .invalidState ? .damaged : .notPossible), "\(code)")
            #expect(error.sentence == "libgcrypt refused a step.")
            #expect((error.cause as? RatchetError)?.code == code)
        }
        // A failure of the library is temporary and independent of the input.
        #expect(AgentError(wrapping: RatchetError(.library, "libgcrypt refused a step.")).code == .store)
    }

    /// An installed KEM library that fails.
    private struct RefusingKEM: KEM {
        static let refusal = RatchetError(.library, "libgcrypt refused a step of the encryption.")
        func generate() throws(RatchetError) -> KEMKey { throw Self.refusal }
        func encapsulate(to publicKey: [UInt8]) throws(RatchetError) -> Encapsulation { throw Self.refusal }
        func decapsulate(_ ciphertext: [UInt8], with key: KEMKey) throws(RatchetError) -> WipedBytes {
            throw Self.refusal
        }
    }

    @Test func failingKEMRejectsInvitationAndLeavesNothing() async throws {
        let relay = MemoryRelay()
        let person = try await Person(relay, postQuantum: true, kem: RefusingKEM())
        let error = await #expect(throws: AgentError.self) {
            try await person.agent.invite(
                Invitation(
                    kind: .oneTime, server: Known.server(1), information: bytes("x"), linkData: nil))
        }
        #expect(error?.code == .store && error?.sentence == RefusingKEM.refusal.sentence)
        #expect(try await person.agent.connections().isEmpty)
        // An address needs no keys, and the database is intact.
        _ = try await person.agent.invite(
            Invitation(kind: .address, server: Known.server(1), information: [], linkData: nil))
        #expect(try await person.agent.connections().map(\.condition.phase) == [.address])
        await person.end()
    }

    @Test func failingKEMKeepsOldKeysOnResynchronisation() async throws {
        let relay = MemoryRelay()
        let inviter = try await Person(relay, servers: [1, 3], postQuantum: true)
        let couple = try await Couple(relay, inviter: inviter)
        inviter.setKEM(RefusingKEM())
        try await inviter.restart()
        let error = await #expect(throws: AgentError.self) {
            try await inviter.agent.resynchronise(couple.toJoiner)
        }
        #expect(error?.code == .store && error?.sentence == RefusingKEM.refusal.sentence)
        _ = try await inviter.agent.send(
            bytes("as before"), to: couple.toJoiner, notifies: false, identifier: nil)
        await couple.joiner.diary.waitForBodies(1)
        #expect(await couple.joiner.diary.bodies() == [bytes("as before")])
        await couple.end()
    }

    @Test func agentErrorsPassAndOthersBecomeStoreErrors() {
        #expect(AgentError(wrapping: AgentError.ended).code == .ended)
        let error = AgentError(wrapping: StoreError(.diskFull, "The disk is full."))
        #expect(error.code == .store && (error.cause as? StoreError)?.code == .diskFull)
        #expect(error.sentence == "The stored connections could not be used: The disk is full.")
    }

    @Test func stoppedAgentThrowsStoppedForEveryCall() async throws {
        let couple = try await Couple(MemoryRelay())
        let error = await #expect(throws: AgentError.self) {
            try await couple.joiner.agent.send(
                bytes("x"), to: couple.toInviter, notifies: false, identifier: [])
        }
        #expect(error?.code == .notPossible && error?.sentence.contains("identifier") == true)
        await couple.end()
        let agent = couple.joiner.agent
        let stored = await #expect(throws: AgentError.self) { try await agent.connections() }
        #expect(stored?.code == .stopped)
        let asked = await #expect(throws: AgentError.self) {
            try await agent.invite(
                Invitation(
                    kind: .oneTime, server: Known.server(1), information: bytes("x"), linkData: nil))
        }
        #expect(asked?.code == .stopped)
    }

    @Test func everyFailureReasonHasItsOwnSentence() {
        let sentences: [(FailureReason, String)] = [
            (.linkGone, "The link was used already, or its owner has deleted it."),
            (.contactGone, "The contact has deleted this connection."),
            (.queueFull, "The contact has not been online for so long that its queue is full."),
            (.expired, "The messaging server could not be reached for too long."),
            (.refused, "The messaging server does not take this."),
            (.incompatible, "The contact's program is of a version that ChatFS does not know."),
            (.deleted, "The connection was deleted before this was sent."),
            (
                .restored,
                "The profile was restored from a backup that was made just then: connect with a new link."
            ),
            (.unreadable, "The contact could not decrypt this, because keys had been lost: send it again."),
            (.withoutKeys, "The contact's program has not answered with new keys for too long."),
            (.noAnswer, "The other side has not answered for three weeks: connect with a new link."),
            (.tooLong, "This is longer than one message can be."),
            (
                .exhausted,
                "Too many messages went to the contact without an answer: ask for new keys with 'chatfs contact renew'."
            ),
        ]
        for (reason, sentence) in sentences { #expect(reason.sentence == sentence) }
        #expect(Set(sentences.map(\.1)).count == sentences.count)
    }
}

/// Message numbers of both directions, compared with a list of sent messages.
@Suite struct MessageSequenceModelTests {
    @Test func sequenceReportsMissingMessages() {
        var (sender, receiver) = (MessageSequence(), MessageSequence())
        _ = sender.send([0])
        receiver.receiveFirst([0])
        var sent: [(number: Int64, previous: [UInt8], bytes: [UInt8])] = []
        for number in 2...40 {
            let previous = sender.lastSentHash
            let bytes = [UInt8(number)]
            #expect(sender.next == Int64(number))
            let hash = sender.send(bytes)
            #expect(hash == sender.lastSentHash && sender.lastSent == Int64(number))
            sent.append((Int64(number), previous, bytes))
        }
        var last: Int64 = 1
        // Forward with gaps, backward, then forward again.
        for place in [0, 1, 2, 6, 7, 4, 5, 5, 20, 21, 38, 0] {
            let message = sent[place]
            let integrity = receiver.receive(
                message.bytes, number: message.number, previousHash: message.previous)
            let expected: MessageIntegrity =
                message.number <= last
                ? .numberRepeated
                : message.number == last + 1 ? .complete : .skipped(last + 1...message.number - 1)
            #expect(integrity == expected)
            last = message.number
            #expect(receiver.lastReceived == last)
        }
    }

    @Test func skipMovesForwardWithinLimit() {
        var sequence = MessageSequence(lastSent: 10)
        for (number, expected) in [
            (Int64(10), Int64(10)), (9, 10), (11, 11), (11 + (1 << 32), 11), (10 + (1 << 32), 10 + (1 << 32)),
        ] {
            sequence.skip(to: number)
            #expect(sequence.lastSent == expected)
        }
        sequence.skip(to: .min)
        sequence.skip(to: .max)
        #expect(sequence.lastSent == 10 + (1 << 32))
    }
}

/// `RateLimit` compared with a list of event times.
@Suite struct RateLimitModelTests {
    @Test(arguments: [(RateLimit.moves, 10, Int64(3600)), (RateLimit.agreements, 3, 86_400)])
    func rateLimitHoldsInEveryWindow(limit: RateLimit, most: Int, seconds: Int64) {
        var (limit, taken, now) = (limit, [Int64](), Int64(1_700_000_000))
        var step: Int64 = 1
        for round in 0..<400 {
            step = (step &* 48_271) % 2_147_483_647
            now += step % (seconds / 4)
            let recent = taken.filter { now - $0 < seconds }
            let isAllowed = limit.take(now: ElapsedTime(seconds: now))
            #expect(isAllowed == (recent.count < most), "\(round)")
            if isAllowed { taken.append(now) }
            #expect(limit.times.count <= most)
        }
        #expect(taken.count > most * 2)
    }
}
