import Base
import Cryptography
import TestSupport
import Testing

@testable import Ratchet

/// A KEM whose library fails at given steps, as without memory.
private struct RefusingKEM: KEM {
    enum Step: CaseIterable {
        case generating, encapsulating, decapsulating
    }

    let inner: ToyKEM
    let refuses: Step?

    private func check(_ step: Step) throws(RatchetError) {
        if step == refuses { throw RatchetError(.library, "The library failed.") }
    }

    func generate() throws(RatchetError) -> KEMKey {
        try check(.generating)
        return try inner.generate()
    }

    func encapsulate(to publicKey: [UInt8]) throws(RatchetError) -> Encapsulation {
        try check(.encapsulating)
        return try inner.encapsulate(to: publicKey)
    }

    func decapsulate(_ ciphertext: [UInt8], with key: KEMKey) throws(RatchetError) -> WipedBytes {
        try check(.decapsulating)
        return try inner.decapsulate(ciphertext, with: key)
    }
}

/// A failing library leaves the ratchet unchanged and is not reported as a bad key.
@Suite("Library failures")
struct LibraryFailureTests {
    private static func tools(_ random: SeededKeys, refusing step: RefusingKEM.Step? = nil) -> RatchetTools {
        RatchetTools(random: random, kem: RefusingKEM(inner: ToyKEM(random: random), refuses: step))
    }

    private static let settings = RatchetSettings(postQuantum: true)

    @Test("library errors differ from invalid keys")
    func codes() {
        let refused = RatchetError.agreement(CryptographyError(.invalidKey, "It is of small order."))
        #expect(refused.code == .invalidKey && refused.sentence == "The contact's key is unusable.")
        let failed = RatchetError.agreement(
            CryptographyError(.library, "The cryptographic library could not load a key."))
        #expect(failed.code == .library)
        #expect(!failed.sentence.contains("contact") && failed.sentence.hasSuffix("could not load a key."))
        #expect((failed.cause as? CryptographyError)?.code == .library)
    }

    @Test("joining fails with and without a proposed KEM")
    func joining() throws {
        let random = SeededKeys(1)
        for (proposes, step) in [
            (true, RefusingKEM.Step.encapsulating), (true, .generating), (false, .generating),
        ] {
            let kem = proposes ? try Self.tools(random).kem?.generate() : nil
            let offer = AgreementKeys.generate(kem: kem, random: random).parameters(version: 3)
            expect(.library) {
                try Ratchet.joining(
                    .generate(random: random), inviter: offer, settings: Self.settings,
                    tools: Self.tools(random, refusing: step))
            }
            // A working library succeeds with the same arguments.
            _ = try Ratchet.joining(
                .generate(random: random), inviter: offer, settings: Self.settings, tools: Self.tools(random))
        }
        // The KEM is not called if neither side wants it.
        let plain = AgreementKeys.generate(random: random).parameters(version: 3)
        for step in RefusingKEM.Step.allCases {
            _ = try Ratchet.joining(
                .generate(random: random), inviter: plain, settings: RatchetSettings(),
                tools: Self.tools(random, refusing: step))
        }
    }

    @Test("inviting fails if the joiner accepted the KEM")
    func inviting() throws {
        let random = SeededKeys(2)
        let keys = AgreementKeys.generate(kem: try Self.tools(random).kem?.generate(), random: random)
        let joined = try Ratchet.joining(
            .generate(random: random), inviter: keys.parameters(version: 3), settings: Self.settings,
            tools: Self.tools(random))
        expect(.library) {
            try Ratchet.inviting(
                keys, joiner: joined.parameters, settings: Self.settings,
                tools: Self.tools(random, refusing: .decapsulating))
        }
        _ = try Ratchet.inviting(
            keys, joiner: joined.parameters, settings: Self.settings, tools: Self.tools(random))
    }

    @Test(
        "decrypting can be retried after a library failure",
        arguments: 0..<3, 1...4)
    func decrypting(step: Int, rounds: Int) throws {
        let refusing = RefusingKEM.Step.allCases[step]
        var pair = try Pair(
            joiner: Self.settings, inviter: Self.settings, seed: UInt64(rounds), kem: true, proposing: true)
        // Each round gives both sides new ratchet keys.
        for round in 0..<rounds {
            #expect(try pair.toInviter(pair.fromJoiner("to \(round)")) == "to \(round)")
            #expect(try pair.toJoiner(pair.fromInviter("back \(round)")) == "back \(round)")
        }
        let message = try pair.fromJoiner("the one")
        let random = SeededKeys(99)
        let before = pair.inviter.encoded
        expect(.library) {
            try pair.inviter.decrypt(message, tools: Self.tools(random, refusing: refusing))
        }
        #expect(pair.inviter.encoded == before)
        let read = try pair.inviter.decrypt(message, tools: Self.tools(random))
        #expect(String(decoding: read, as: UTF8.self) == "the one")
        expect(.repeated) { try pair.inviter.decrypt(message, tools: Self.tools(random)) }
    }

    @Test("only messages with a KEM ciphertext need the KEM")
    func missing() throws {
        var pair = try Pair(joiner: Self.settings, inviter: Self.settings, kem: true, proposing: true)
        #expect(try pair.toInviter(pair.fromJoiner("one")) == "one")
        let message = try pair.fromInviter("two")
        let before = pair.joiner.encoded
        expect(.kemUnavailable) {
            try pair.joiner.decrypt(message, tools: RatchetTools(random: SeededKeys(5)))
        }
        #expect(pair.joiner.encoded == before)
        #expect(try pair.toJoiner(message) == "two")
        var plain = try Pair()
        let simple = try plain.fromJoiner("three")
        let read = try plain.inviter.decrypt(simple, tools: RatchetTools(random: SeededKeys(6)))
        #expect(String(decoding: read, as: UTF8.self) == "three")
    }
}
