import Base
import Cryptography
import Ratchet
import SMP
import TestSupport
import Testing

@testable import Agent

/// Ratchet resynchronisation from either side, with losses.
@Suite struct SynchronisingMachineTests {
    private static let now = ElapsedTime(seconds: 1_000_000)

    /// The inviter has lost its ratchet.
    private static func withLostRatchet(seed: UInt64 = 1) throws -> MachinePair {
        var (pair, other) = (
            try MachinePair.connected(seed: seed), try MachinePair.connected(seed: seed + 500)
        )
        try other.converse("elsewhere")
        pair.inviter.change { $0.state.ratchet = other.inviter.state.ratchet }
        return pair
    }

    @Test(arguments: 1...8) func eitherSideMaySendFirst(seed: UInt64) throws {
        var pair = try MachinePair.connected(seed: seed)
        try pair.converse("before")
        let old = pair.inviter.state.ratchet?.securityHash
        try pair.inviter.step { try $0.synchronise(now: Self.now) }
        #expect(pair.inviter.condition.synchronisation == .started)
        // A message sent meanwhile waits for the proof.
        pair.inviter.write("waits here")
        pair.joiner.write("waits there")
        try pair.exchange()
        #expect(pair.inviter.condition.synchronisation == .synchronised)
        #expect(pair.joiner.condition.synchronisation == .synchronised)
        #expect(pair.inviter.state.ratchet?.securityHash == pair.joiner.state.ratchet?.securityHash)
        #expect(pair.inviter.state.ratchet?.securityHash != old)
        #expect(pair.joiner.bodies.last == "waits here" && pair.inviter.bodies.last == "waits there")
        try pair.converse("after")
        #expect(pair.inviter.conditions.map(\.synchronisation) == [.started, .agreed, .synchronised])
    }

    @Test(arguments: 1...4) func simultaneousStartsAgree(seed: UInt64) throws {
        var pair = try MachinePair.connected(seed: seed)
        try pair.inviter.step { try $0.synchronise(now: Self.now) }
        try pair.joiner.step { try $0.synchronise(now: Self.now) }
        // Each repeats its request before the other's keys arrive: nothing more is sent.
        #expect(try pair.inviter.step { try $0.synchronise(now: Self.now) }.isEmpty)
        #expect(pair.inviter.waiting.count == 1)
        try pair.exchange()
        #expect(pair.inviter.condition.synchronisation == .synchronised)
        #expect(pair.joiner.condition.synchronisation == .synchronised)
        try pair.converse("after")
    }

    @Test func onlyEstablishedLiveConnectionResynchronises() throws {
        var pair = try MachinePair()
        let early = #expect(throws: AgentError.self) {
            try pair.joiner.step { try $0.synchronise(now: Self.now) }
        }
        #expect(early?.code == .notPossible)
        #expect(early?.sentence == "Only an established connection can agree on new keys.")
        try pair.exchange()
        pair.joiner.change { $0.state.sending[0].isGone = true }
        let gone = #expect(throws: AgentError.self) {
            try pair.joiner.step { try $0.synchronise(now: Self.now) }
        }
        #expect(gone?.code == .ended)
        #expect(pair.joiner.waiting.isEmpty && pair.joiner.condition.synchronisation == .synchronised)
    }

    /// Like a backup restored twice before the peer replies: both replies arrive, and neither names the keys
    /// that it answers.
    @Test(arguments: 1...8) func repeatedStartsBeforeReplyConverge(seed: UInt64) throws {
        var pair = try MachinePair.connected(seed: seed)
        try pair.converse("before")
        var answers: [Transmission] = []
        for time: Int64 in [0, 60] {
            try pair.inviter.step { try $0.restored(now: Self.now.advanced(by: .seconds(time))) }
            for transmission in try pair.fromInviter() { try pair.joiner.take(transmission) }
            answers += try pair.fromJoiner()
        }
        #expect(answers.map(\.kind).filter { $0 == .keys }.count == 2)
        for transmission in answers { try pair.inviter.take(transmission) }
        try pair.exchange()
        #expect(pair.inviter.condition.synchronisation == .synchronised)
        #expect(pair.joiner.condition.synchronisation == .synchronised)
        #expect(pair.inviter.state.ratchet?.securityHash == pair.joiner.state.ratchet?.securityHash)
        try pair.converse("after")
    }

    @Test func onlyLatestUnsentKeysAreSent() throws {
        var pair = try MachinePair.connected()
        for _ in 0..<3 { try pair.inviter.step { try $0.restored(now: Self.now) } }
        #expect(pair.inviter.waiting.map(\.kind) == [.keys])
        try pair.exchange()
        try pair.converse("after")
    }

    @Test func undeliveredKeysAreReplacedAfterADay() throws {
        var pair = try Self.withLostRatchet()
        try pair.inviter.step { try $0.restored(now: Self.now) }
        // The server keeps the keys for three weeks; the peer stays away.
        _ = try pair.fromInviter()
        func write(after seconds: Int64) throws -> [Outgoing.Kind] {
            pair.inviter.now = Self.now.advanced(by: .seconds(seconds))
            pair.joiner.write("\(seconds)")
            for transmission in try pair.fromJoiner() { try pair.inviter.take(transmission) }
            return pair.inviter.waiting.map(\.kind)
        }
        #expect(try write(after: 86_399).isEmpty, "the answer may be on its way")
        #expect(try write(after: 86_400) == [.keys])
        try pair.exchange()
        try pair.converse("after")
    }

    /// Like a backup made during an agreement and restored after later agreements, without `isRestored`.
    @Test(arguments: 1...6) func uselessAgreedKeysAreReplacedAfterADay(seed: UInt64) throws {
        var pair = try MachinePair.connected(seed: seed)
        try pair.joiner.step { try $0.synchronise(now: Self.now) }
        for transmission in try pair.fromJoiner() { try pair.inviter.take(transmission) }
        let backup = pair.inviter.state
        #expect(backup.synchronisation.phase == .agreed)
        try pair.exchange()
        try pair.joiner.step { try $0.synchronise(now: Self.now) }
        try pair.exchange()
        pair.inviter.change { $0.state = backup }
        func write(after seconds: Int64) throws -> [Outgoing.Kind] {
            pair.inviter.now = Self.now.advanced(by: .seconds(seconds))
            pair.joiner.write("\(seconds)")
            for transmission in try pair.fromJoiner() { try pair.inviter.take(transmission) }
            return pair.inviter.waiting.map(\.kind)
        }
        #expect(try !write(after: 86_399).contains(.keys), "what proves them may be on its way")
        #expect(try write(after: 86_400).contains(.keys))
        try pair.exchange()
        #expect(pair.inviter.condition.synchronisation == .synchronised)
        #expect(pair.joiner.condition.synchronisation == .synchronised)
        #expect(pair.inviter.state.ratchet?.securityHash == pair.joiner.state.ratchet?.securityHash)
        // Messages of the later state are missing here and there.
        pair.inviter.write("there")
        pair.joiner.write("here")
        try pair.exchange()
        #expect(pair.joiner.bodies.last == "there" && pair.inviter.bodies.last == "here")
    }

    @Test func unfetchedKeysAreRepeatedAfterADay() throws {
        var pair = try MachinePair.connected()
        try pair.inviter.step { try $0.restored(now: Self.now) }
        let (first, late) = (pair.inviter.waiting, try pair.fromInviter())
        func write(after seconds: Int64) throws -> [Outgoing] {
            pair.inviter.now = Self.now.advanced(by: .seconds(seconds))
            pair.joiner.write("\(seconds)")
            for transmission in try pair.fromJoiner() { try pair.inviter.take(transmission) }
            return pair.inviter.waiting
        }
        #expect(try write(after: 86_399).isEmpty, "they may be on their way")
        #expect(try write(after: 86_400).map(\.content) == first.map(\.content))
        // The delayed keys arrive too; both count as the same start.
        for transmission in late { try pair.joiner.take(transmission) }
        try pair.exchange()
        #expect(pair.inviter.condition.synchronisation == .synchronised)
        #expect(pair.joiner.condition.synchronisation == .synchronised)
        try pair.converse("after")
        #expect(pair.inviter.bodies.dropLast() == ["86399", "86400"])
    }

    @Test func repeatedRequestResendsSameKeys() throws {
        var pair = try MachinePair.connected()
        try pair.inviter.step { try $0.synchronise(now: Self.now) }
        let first = pair.inviter.waiting
        let lost = try pair.fromInviter()
        try pair.inviter.step { try $0.synchronise(now: Self.now, areSent: true) }
        #expect(lost.count == 1 && pair.inviter.waiting.map(\.content) == first.map(\.content))
        try pair.exchange()
        try pair.converse("after")
    }

    @Test(arguments: 1...6) func expiredProofOfKeysIsRepeated(seed: UInt64) throws {
        var pair = try MachinePair.connected(seed: seed)
        try pair.inviter.step { try $0.synchronise(now: Self.now) }
        for transmission in try pair.fromInviter() { try pair.joiner.take(transmission) }
        for transmission in try pair.fromJoiner() where transmission.kind == .keys {
            try pair.inviter.take(transmission)
        }
        _ = try pair.fromInviter()
        #expect(pair.inviter.condition.synchronisation == .agreed)
        #expect(pair.joiner.condition.synchronisation == .agreed)
        let later = Self.now.advanced(by: RatchetSync.keysAge)
        let early = later.advanced(by: .seconds(-1))
        #expect(try pair.inviter.step { try $0.followLostKeys(now: early) }.isEmpty)
        #expect(try pair.joiner.step { try $0.followLostKeys(now: early) }.isEmpty)
        // Either side suffices: the first sender repeats its message, the other starts again.
        if seed.isMultiple(of: 2) {
            try pair.inviter.step { try $0.followLostKeys(now: later) }
        } else {
            try pair.joiner.step { try $0.followLostKeys(now: later) }
        }
        try pair.exchange()
        #expect(pair.inviter.condition.synchronisation == .synchronised)
        #expect(pair.joiner.condition.synchronisation == .synchronised)
        try pair.converse("after")
    }

    @Test func usedKeysAreIgnored() throws {
        var pair = try MachinePair.connected()
        try pair.inviter.step { try $0.synchronise(now: Self.now) }
        let keys = try pair.fromInviter()
        #expect(keys.map(\.kind) == [.keys])
        for transmission in keys { try pair.joiner.take(transmission) }
        let (ratchet, waiting) = (pair.joiner.state.ratchet?.securityHash, pair.joiner.waiting)
        // A server repeats them, during the agreement and afterwards.
        for transmission in keys { #expect(try pair.joiner.take(transmission).isEmpty) }
        #expect(pair.joiner.state.ratchet?.securityHash == ratchet && pair.joiner.waiting == waiting)
        try pair.exchange()
        for transmission in keys { #expect(try pair.joiner.take(transmission).isEmpty) }
        #expect(pair.joiner.condition.synchronisation == .synchronised)
        try pair.converse("after")
    }

    @Test func unreadableMessageAllowsNewKeysUntilNextMessage() throws {
        var pair = try MachinePair.connected()
        try pair.converse("before")
        pair.joiner.write("damaged")
        let sent = try pair.fromJoiner()
        pair.joiner.write("whole")
        // The header is readable, the body is not.
        let damaged = try Self.damagingBody(sent[0], of: pair)
        try pair.inviter.take(damaged)
        #expect(pair.inviter.condition.synchronisation == .allowed)
        #expect(pair.inviter.state.synchronisation.allowsSending && pair.inviter.waiting.isEmpty)
        for transmission in try pair.fromJoiner() { try pair.inviter.take(transmission) }
        #expect(pair.inviter.condition.synchronisation == .synchronised)
        #expect(pair.inviter.conditions.map(\.synchronisation) == [.allowed, .synchronised])
        #expect(pair.inviter.received.last?.integrity == .skipped(3...3))
    }

    /// Returns the message with a changed last byte, in a valid box.
    private static func damagingBody(_ transmission: Transmission, of pair: MachinePair) throws
        -> Transmission
    {
        guard case .message(let time, let flags, let body) = transmission.body,
            let sending = pair.joiner.state.present
        else { throw WaitedInVain("a message") }
        let secret = try AgreementKey(rawValue: sending.queueKey).wipedSecret(with: sending.address.key)
        var message = try QueueMessage(decoding: body)
        var content = try message.open(secret: secret)
        content.envelope[content.envelope.count - 1] ^= 1
        message = try QueueMessage(
            sealing: content, version: message.version, senderKey: nil, secret: secret, nonce: message.nonce)
        var damaged = transmission
        damaged.body = .message(received: time, flags: flags, body: message.encoded)
        return damaged
    }

    @Test func unreadableMessagesStartResynchronisation() throws {
        var pair = try Self.withLostRatchet()
        pair.joiner.write("cannot be read")
        for transmission in try pair.fromJoiner() { try pair.inviter.take(transmission) }
        #expect(pair.inviter.condition.synchronisation == .started)
        #expect(pair.inviter.waiting.map(\.kind) == [.keys])
        try pair.exchange()
        // The peer learns that its message was unreadable.
        #expect(pair.joiner.lostAfter.count == 1)
        try pair.converse("after")
    }

    @Test func automaticKeyAgreementsAreRateLimited() throws {
        var pair = try MachinePair.connected()
        let other = try MachinePair.connected(seed: 700)
        func lose(at seconds: Int64) throws -> Int {
            pair.inviter.change { $0.state.ratchet = other.inviter.state.ratchet }
            pair.inviter.change { $0.state.synchronisation = RatchetSync() }
            pair.inviter.now = ElapsedTime(seconds: 1_000_000 + seconds)
            pair.joiner.write("\(seconds)")
            pair.inviter.forgetWhatWaits()
            for transmission in try pair.fromJoiner() { try pair.inviter.take(transmission) }
            return pair.inviter.waiting.count
        }
        for time: Int64 in [0, 1, 2] { #expect(try lose(at: time) == 1) }
        #expect(try lose(at: 86_399) == 0)
        #expect(pair.inviter.condition.synchronisation == .required)
        // User requests are not limited.
        pair.inviter.forgetWhatWaits()
        try pair.inviter.step { try $0.synchronise(now: Self.now) }
        #expect(pair.inviter.waiting.map(\.kind) == [.keys])
        pair.inviter.forgetWhatWaits()
        #expect(try lose(at: 86_400) == 1)
    }

    @Test func deletionGivesUpUnreadableMessages() throws {
        var pair = try Self.withLostRatchet()
        let now = ElapsedTime(seconds: 1_000_000)
        pair.inviter.change { machine in
            for _ in 0..<3 { _ = machine.state.agreements.take(now: now) }
        }
        pair.inviter.step { $0.delete(afterSending: true) }
        pair.inviter.write("the last one")
        pair.joiner.write("cannot be read")
        var effects: [Effect] = []
        for transmission in try pair.fromJoiner() { effects += try pair.inviter.take(transmission) }
        #expect(effects.contains(.failWaiting(.unreadable)) && pair.inviter.waiting.isEmpty)
    }

    @Test func readyMessageReportsLastReceivedNumber() throws {
        var pair = try MachinePair.connected()
        for number in 1...3 { pair.joiner.write("\(number)") }
        let sent = try pair.fromJoiner()
        for transmission in sent.prefix(2) { try pair.inviter.take(transmission) }
        let arrived = pair.inviter.state.sequence.lastReceived
        try pair.inviter.step { try $0.synchronise(now: Self.now) }
        try pair.exchange()
        #expect(pair.joiner.lostAfter == [arrived])
        // It never reuses the number of the third message.
        #expect(pair.joiner.state.sequence.lastSent >= arrived + 1)
        // A message of the old ratchet cannot be read any more.
        try pair.inviter.take(sent[2])
        #expect(!pair.inviter.bodies.contains("3"))
    }

    @Test func readyMessageWithoutNewKeysIsIgnored() throws {
        var pair = try MachinePair.connected()
        try pair.converse("before")
        func say(_ number: Int64) throws {
            pair.joiner.say(.ratchetReady(lastReceived: number))
            try pair.exchange()
        }
        let last = pair.inviter.state.sequence.lastSent
        for number: Int64 in [0, -1, .min, .max, last + 1000] { try say(number) }
        #expect(pair.inviter.lostAfter.isEmpty && pair.inviter.state.sequence.lastSent == last)
        try pair.inviter.step { try $0.synchronise(now: Self.now) }
        try pair.exchange()
        let told = pair.inviter.lostAfter
        #expect(told.count == 1, "each side hears it once")
        try say(0)
        #expect(pair.inviter.lostAfter == told)
        try pair.converse("after")
    }

    @Test func restoredStateEncryptsNothing() throws {
        let pair = try MachinePair.connected()
        let expected: [(ConnectionCondition.Phase, [Effect])] = [
            (.joining, [.failWaiting(.restored), .tell(.connectionFailed(.restored))]),
            (.confirming, [.failWaiting(.restored), .tell(.connectionFailed(.restored))]),
            (.deleting, [.failWaiting(.restored)]), (.inviting, []), (.address, []), (.requesting, []),
            (.failed, []),
        ]
        for (phase, effects) in expected {
            var state = ConnectionState(phase: phase, information: [], receiving: [])
            state.ratchet = pair.joiner.state.ratchet
            state.sending = pair.joiner.state.sending
            var machine = ConnectionMachine(state, tools: pair.joiner.machine.tools)
            try machine.restored(now: Self.now)
            #expect(machine.effects == effects, "\(phase)")
        }
        var standing = pair
        let effects = try standing.joiner.step { try $0.restored(now: Self.now) }
        #expect(effects.first == .encryptAgain && standing.joiner.waiting.map(\.kind) == [.keys])
        #expect(standing.joiner.condition.synchronisation == .started)
        try standing.exchange()
        try standing.converse("after")

        var gone = pair
        gone.joiner.change { $0.state.sending[0].isGone = true }
        #expect(try gone.joiner.step { try $0.restored(now: Self.now) }.isEmpty)
        var unbegun = try MachinePair()
        #expect(
            try unbegun.inviter.step { try $0.restored(now: Self.now) }.isEmpty, "it has no keys to use twice"
        )
    }
}
