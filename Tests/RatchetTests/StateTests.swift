import Base
import Cryptography
import TestSupport
import Testing

@testable import Ratchet

/// Stored states.
@Suite struct StateTests {
    /// States before and after the first message, with missing messages, and with the KEM.
    static func samples() throws -> [Ratchet] {
        var samples: [Ratchet] = []
        for (version, postQuantum) in [(UInt16(2), false), (3, false), (3, true)] {
            let settings = RatchetSettings(maxVersion: version, postQuantum: postQuantum)
            var pair = try Pair(
                joiner: settings, inviter: settings, kem: postQuantum, proposing: postQuantum)
            samples += [pair.joiner, pair.inviter]
            for _ in 0..<3 {
                _ = try pair.fromJoiner("lost")
                try pair.converse()
            }
            _ = try pair.fromJoiner("lost")
            let message = try pair.fromJoiner("seen")
            _ = try pair.toInviter(message)
            samples += [pair.joiner, pair.inviter]
        }
        return samples
    }

    @Test func statesSurviveEncodingAndDecoding() throws {
        for ratchet in try Self.samples() {
            let stored = ratchet.encoded
            #expect(stored.count <= Ratchet.maxEncodedLength)
            let read = try Ratchet(decoding: stored)
            #expect(read.encoded == stored)
            #expect(read.isPostQuantum == ratchet.isPostQuantum)
        }
    }

    @Test func longestStateCanBeDecoded() throws {
        let settings = RatchetSettings(postQuantum: true)
        var pair = try Pair(joiner: settings, inviter: settings, kem: true, proposing: true)
        for round in 0..<SkippedKeys.maxChains + 1 {
            for _ in 0..<(round < 10 ? 512 : 1) { _ = try pair.fromJoiner("") }
            let message = try pair.fromJoiner("x")
            _ = try pair.toInviter(message)
            let answer = try pair.fromInviter("y")
            _ = try pair.toJoiner(answer)
        }
        #expect(pair.inviter.previousChains.count == SkippedKeys.maxChains)
        let stored = pair.inviter.encoded
        #expect(stored.count > 110_000)
        #expect(try Ratchet(decoding: stored).encoded == stored)
    }

    @Test func invalidStatesAreRejected() throws {
        expect(.invalidState) { try Ratchet(decoding: WipedBytes([])) }
        expect(.invalidState) { try Ratchet(decoding: WipedBytes([UInt8](repeating: 0, count: 200_000))) }
        var generator = SeededGenerator(state: 6)
        for ratchet in try Self.samples() {
            let stored = ratchet.encoded.bytes
            for count in stride(from: 0, to: stored.count, by: 7) {
                expect(.invalidState) { try Ratchet(decoding: WipedBytes(stored.prefix(count))) }
            }
            expect(.invalidState) { try Ratchet(decoding: WipedBytes(stored + [0])) }
            for _ in 0..<200 {
                var changed = stored
                changed[Int.random(in: 0..<stored.count, using: &generator)] = UInt8.random(
                    in: 0...255, using: &generator)
                guard let read = try? Ratchet(decoding: WipedBytes(changed)) else { continue }
                #expect(read.encoded == WipedBytes(changed), "a state has one form")
            }
        }
    }

    @Test func laterFormatIsRejected() throws {
        var stored = try Pair().joiner.encoded.bytes
        stored[1] = 2
        expect(.invalidState) { try Ratchet(decoding: WipedBytes(stored)) }
    }

    @Test func contradictoryMessageNumbersAreRejected() {
        let key = MessageKey(key: WipedBytes([UInt8](repeating: 1, count: 32)), nonce: [UInt8](0..<16))
        func chain(_ numbers: [UInt32], next: UInt32, deletedBelow: UInt32 = 0) -> ReceivingChain? {
            ReceivingChain(
                headerKey: key.key, messageNumber: next, deletedBelow: deletedBelow,
                skipped: numbers.map { ($0, key) })
        }
        #expect(chain([1, 2], next: 3) != nil)
        #expect(chain([2, 1], next: 3) == nil)
        #expect(chain([1, 1], next: 3) == nil)
        #expect(chain([3], next: 3) == nil)
        #expect(chain([0], next: 3, deletedBelow: 1) == nil)
        #expect(chain([], next: 3, deletedBelow: 4) == nil)
    }

    @Test func descriptionsHideSecrets() throws {
        let ratchet = try Pair().joiner
        for secret in [ratchet.rootKey, ratchet.ratchetKey.rawValue, ratchet.encoded] {
            #expect("\(secret)" == "WipedBytes(…)")
            #expect(Mirror(reflecting: secret).children.isEmpty)
        }
    }
}
