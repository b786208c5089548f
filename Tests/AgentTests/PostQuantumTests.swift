import Base
import Cryptography
import Ratchet
import TestSupport
import Testing

@testable import Agent

/// Use of any KEM between two agents: negotiation, fallback and removal.
@Suite struct PostQuantumTests {
    private struct Both: Equatable {
        var inviter: Bool?
        var joiner: Bool?

        init(_ couple: Couple) async throws {
            inviter = try await couple.inviter.agent.security(of: couple.toJoiner)?.isPostQuantum
            joiner = try await couple.joiner.agent.security(of: couple.toInviter)?.isPostQuantum
        }

        init(_ both: Bool) { (inviter, joiner) = (both, both) }
    }

    private static func person(_ relay: MemoryRelay, _ server: UInt8, kem: (any KEM)?) async throws -> Person
    {
        try await Person(relay, servers: [server], postQuantum: true, kem: kem)
    }

    private static func exchange(_ couple: Couple, _ bodies: [[UInt8]]) async throws {
        for body in bodies {
            let before = await (
                couple.joiner.diary.bodies().count, couple.inviter.diary.bodies().count
            )
            _ = try await couple.inviter.agent.send(
                body, to: couple.toJoiner, notifies: false, identifier: nil)
            await couple.joiner.diary.waitForBodies(before.0 + 1)
            _ = try await couple.joiner.agent.send(
                body, to: couple.toInviter, notifies: false, identifier: nil)
            await couple.inviter.diary.waitForBodies(before.1 + 1)
            #expect(await couple.joiner.diary.bodies().last == body)
            #expect(await couple.inviter.diary.bodies().last == body)
        }
    }

    @Test(arguments: [nil, "{}"]) func bothSidesUseKEMForEachLinkKind(linkData: String?) async throws {
        let relay = MemoryRelay()
        let couple = try await Couple(
            relay, inviter: Self.person(relay, 1, kem: PlainKEM()),
            joiner: Self.person(relay, 2, kem: PlainKEM()), linkData: linkData.map(bytes))
        // Messages of the maximum size with KEM keys too.
        let longest = [UInt8](repeating: 7, count: AgentLimits.postQuantumBody)
        try await Self.exchange(couple, [bytes("first"), longest, bytes("last")])
        #expect(try await Both(couple) == Both(true))
        await #expect(throws: AgentError.self) {
            try await couple.inviter.agent.send(
                longest + [7], to: couple.toJoiner, notifies: false, identifier: nil)
        }
        await couple.end()
    }

    @Test func addressRequestUsesKEM() async throws {
        let relay = MemoryRelay()
        let owner = try await Self.person(relay, 1, kem: PlainKEM())
        let asking = try await Self.person(relay, 2, kem: PlainKEM())
        let address = try await owner.agent.invite(
            Invitation(kind: .address, server: Known.server(1), linkData: bytes("{}")))
        let toOwner = try await asking.agent.join(
            link: #require(address.links.short).link, information: bytes("asking"), confirmation: [])
        let request = await owner.diary.first { $0.request?.id }
        let toAsking = try await owner.agent.accept(request, information: bytes("owner"))
        await owner.diary.wait { $0.contains { $0.connection == toAsking && $0.isConnected } }
        await asking.diary.wait { $0.contains { $0.connection == toOwner && $0.isConnected } }
        let couple = Couple(inviter: asking, joiner: owner, toJoiner: toOwner, toInviter: toAsking)
        try await Self.exchange(couple, [bytes("first"), bytes("second")])
        #expect(try await Both(couple) == Both(true))
        await couple.end()
    }

    @Test(arguments: [true, false]) func missingKEMFallsBackToStandard(ofInviter: Bool)
        async throws
    {
        let relay = MemoryRelay()
        let couple = try await Couple(
            relay, inviter: Self.person(relay, 1, kem: ofInviter ? nil : PlainKEM()),
            joiner: Self.person(relay, 2, kem: ofInviter ? PlainKEM() : nil))
        try await Self.exchange(couple, [bytes("first"), bytes("second"), bytes("third")])
        #expect(try await Both(couple) == Both(false))
        let security = try await (
            couple.inviter.agent.security(of: couple.toJoiner),
            couple.joiner.agent.security(of: couple.toInviter)
        )
        #expect(security.0?.isPostQuantumPossible == !ofInviter)
        #expect(security.1?.isPostQuantumPossible == ofInviter)
        #expect(security.0?.code == security.1?.code)
        await couple.end()
    }

    /// Like a data directory moved to a machine without the library: earlier messages are reported as
    /// unreadable, both sides go on without the KEM, and use it again later.
    @Test func removedKEMKeepsConnectionWorking() async throws {
        let relay = MemoryRelay()
        let couple = try await Couple(
            relay, inviter: Self.person(relay, 1, kem: PlainKEM()),
            joiner: Self.person(relay, 2, kem: PlainKEM()))
        try await Self.exchange(couple, [bytes("first"), bytes("second")])
        #expect(try await Both(couple) == Both(true))

        // The inviter replies to a key that it gets after the joiner has ended. Its next messages start a
        // ratchet step that the joiner makes without the library.
        let read = await couple.inviter.diary.bodies().count
        await couple.inviter.end()
        let last = try await couple.joiner.agent.send(
            bytes("third"), to: couple.toInviter, notifies: false, identifier: nil)
        await couple.joiner.diary.wait { $0.contains { $0.content == .sent(message: last) } }
        await couple.joiner.end()
        couple.joiner.setKEM(nil)
        try await couple.inviter.start()
        await couple.inviter.diary.waitForBodies(read + 1)
        var numbers: [Int64] = []
        for number in 1...3 {
            numbers.append(
                try await couple.inviter.agent.send(
                    bytes("missed \(number)"), to: couple.toJoiner, notifies: false, identifier: nil))
        }
        let missed = numbers
        // Encrypted and at the relay before the new agreement.
        await couple.inviter.diary.wait { events in
            missed.allSatisfy { number in events.contains { $0.content == .sent(message: number) } }
        }
        try await couple.joiner.start()
        // Unreadable messages are reported.
        await couple.inviter.diary.wait { events in
            missed.allSatisfy { number in
                events.contains { $0.content == .messageFailed(message: number, .unreadable) }
            }
        }
        try await Self.exchange(couple, [bytes("without"), bytes("it")])
        #expect(try await Both(couple) == Both(false))

        await couple.joiner.end()
        couple.joiner.setKEM(PlainKEM())
        try await couple.joiner.start()
        try await couple.joiner.agent.resynchronise(couple.toInviter)
        await couple.joiner.diary.wait { events in
            events.last { $0.condition != nil }?.condition?.synchronisation == .synchronised
        }
        try await Self.exchange(couple, [bytes("with"), bytes("it"), bytes("again")])
        #expect(try await Both(couple) == Both(true))
        await couple.end()
    }

    @Test func messageIsReadAfterKEMRecovers() async throws {
        let (relay, kem) = (MemoryRelay(), FailingKEM())
        let couple = try await Couple(
            relay, inviter: Self.person(relay, 1, kem: PlainKEM()), joiner: Self.person(relay, 2, kem: kem))
        try await Self.exchange(couple, [bytes("first"), bytes("second")])
        let (read, known) = (
            await couple.inviter.diary.bodies().count, await couple.joiner.diary.bodies().count
        )
        // The inviter replies to a key of the joiner; its next message starts a ratchet step.
        kem.setFailing(true)
        _ = try await couple.joiner.agent.send(
            bytes("third"), to: couple.toInviter, notifies: false, identifier: nil)
        await couple.inviter.diary.waitForBodies(read + 1)
        _ = try await couple.inviter.agent.send(
            bytes("in between"), to: couple.toJoiner, notifies: false, identifier: nil)
        try await wait(until: "it was tried again") { kem.failures > 1 }
        #expect(await couple.joiner.diary.bodies().count == known)
        kem.setFailing(false)
        await couple.joiner.diary.waitForBodies(known + 1)
        #expect(await couple.joiner.diary.bodies().last == bytes("in between"))
        #expect(try await Both(couple) == Both(true))
        await couple.end()
    }

    @Test(.enabled(if: GcryptKEM.installed != nil, "libgcrypt 1.11 or later is not installed"))
    func installedKEMServesConversation() async throws {
        let relay = MemoryRelay()
        let couple = try await Couple(
            relay, inviter: Self.person(relay, 1, kem: GcryptKEM.installed),
            joiner: Self.person(relay, 2, kem: GcryptKEM.installed), linkData: bytes("{}"))
        relay.setChaos(.wild)
        try await Self.exchange(couple, (0..<50).map { bytes("message \($0)") })
        relay.setChaos(.none)
        #expect(try await Both(couple) == Both(true))
        await couple.end()
    }
}

/// An insecure KEM with the real lengths: secrets are hashes of public data.
private struct PlainKEM: KEM {
    private let random = SystemRandomSource()

    func generate() throws(RatchetError) -> KEMKey {
        let seed = random.bytes(32)
        return KEMKey(
            publicKey: Self.filled(seed, KEMLength.publicKey),
            secretKey: WipedBytes(Self.filled(seed, KEMLength.secretKey)))!
    }

    func encapsulate(to publicKey: [UInt8]) throws(RatchetError) -> Encapsulation {
        let seed = random.bytes(32)
        let secret = WipedBytes(SHA256.hash(Array(publicKey.prefix(32)) + seed))
        return Encapsulation(ciphertext: Self.filled(seed, KEMLength.ciphertext), secret: secret)!
    }

    func decapsulate(_ ciphertext: [UInt8], with key: KEMKey) throws(RatchetError) -> WipedBytes {
        WipedBytes(SHA256.hash(Array(key.publicKey.prefix(32) + ciphertext.prefix(32))))
    }

    private static func filled(_ seed: [UInt8], _ count: Int) -> [UInt8] {
        seed + [UInt8](repeating: 0, count: count - seed.count)
    }
}

/// A `PlainKEM` that can fail.
private final class FailingKEM: KEM {
    private struct State {
        var isFailing = false
        var failures = 0
    }

    private let beneath = PlainKEM()
    private let state = Lock(State())

    var failures: Int { state.withLock(\.failures) }

    func setFailing(_ isFailing: Bool) { state.withLock { $0.isFailing = isFailing } }

    private func requireWorking() throws(RatchetError) {
        let fails = state.withLock { state in
            if state.isFailing { state.failures += 1 }
            return state.isFailing
        }
        if fails { throw RatchetError(.library, "The library has no memory left.") }
    }

    func generate() throws(RatchetError) -> KEMKey {
        try requireWorking()
        return try beneath.generate()
    }

    func encapsulate(to publicKey: [UInt8]) throws(RatchetError) -> Encapsulation {
        try requireWorking()
        return try beneath.encapsulate(to: publicKey)
    }

    func decapsulate(_ ciphertext: [UInt8], with key: KEMKey) throws(RatchetError) -> WipedBytes {
        try requireWorking()
        return try beneath.decapsulate(ciphertext, with: key)
    }
}
