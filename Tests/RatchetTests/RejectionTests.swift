import Base
import Cryptography
import TestSupport
import Testing

@testable import Ratchet

/// Rejected messages, their errors, and the unchanged ratchet.
@Suite struct RejectionTests {
    @Test func inviterCannotSendBeforeFirstMessage() throws {
        var pair = try Pair()
        expect(.notReady) { try pair.fromInviter("too early") }
        let message = try pair.fromJoiner("hello")
        #expect(try pair.toInviter(message) == "hello")
        let answer = try pair.fromInviter("in time")
        #expect(try pair.toJoiner(answer) == "in time")
    }

    @Test func repeatedMessagesAreReportedAsRepeated() throws {
        var pair = try Pair()
        let first = try pair.fromJoiner("1")
        let second = try pair.fromJoiner("2")
        let third = try pair.fromJoiner("3")
        _ = try pair.toInviter(third)
        expect(.repeated) { try pair.toInviter(third) }
        _ = try pair.toInviter(first)
        expect(.repeated) { try pair.toInviter(first) }
        for _ in 0..<5 { try pair.converse() }
        expect(.repeated) { try pair.toInviter(first) }
        #expect(try pair.toInviter(second) == "2", "it was kept over five changes of direction")
        expect(.repeated) { try pair.toInviter(second) }
    }

    @Test func messagesWithDeletedKeysAreTooOld() throws {
        var pair = try Pair()
        var late: [[UInt8]] = []
        // Five chains, each with 500 missing messages.
        for round in 0..<5 {
            for number in 0..<500 {
                let message = try pair.fromJoiner("\(round)")
                if number == 0 || number == 499 { late.append(message) }
            }
            try pair.converse()
        }
        let open = try #require(pair.inviter.receiving).chain
        let kept = pair.inviter.previousChains.reduce(open.skipped.count) { $0 + $1.skipped.count }
        #expect(kept == SkippedKeys.maxCount)
        expect(.tooOld) { try pair.toInviter(late[0]) }
        #expect(try pair.toInviter(late[1]) == "0", "the newest of the first chain")
        #expect(try pair.toInviter(late[9]) == "4")
    }

    @Test func oldestChainsAreDeleted() throws {
        var pair = try Pair()
        let lost = try pair.fromJoiner("lost")
        let seen = try pair.fromJoiner("seen")
        _ = try pair.toInviter(seen)
        for _ in 0..<SkippedKeys.maxChains + 2 {
            _ = try pair.fromJoiner("lost")
            try pair.converse()
        }
        #expect(pair.inviter.previousChains.count == SkippedKeys.maxChains)
        expect(.headerNotAuthentic) { try pair.toInviter(lost) }
        // Fewer complete chains are kept.
        for _ in 0..<40 { try pair.converse() }
        #expect(pair.joiner.previousChains.count == SkippedKeys.maxCompleteChains)
    }

    @Test func upTo512MessagesMayBeMissing() throws {
        var pair = try Pair()
        let first = try pair.fromJoiner("first")
        for _ in 0..<SkippedKeys.maxAhead - 1 { _ = try pair.fromJoiner("lost") }
        let reachable = try pair.fromJoiner("reachable")
        let beyond = try pair.fromJoiner("beyond")
        let before = pair.inviter
        expect(.tooManySkipped) { try pair.toInviter(beyond) }
        #expect(pair.inviter.encoded == before.encoded)
        #expect(try pair.toInviter(reachable) == "reachable")
        #expect(try pair.toInviter(beyond) == "beyond")
        #expect(try pair.toInviter(first) == "first")
    }

    @Test func damagedMessageLeavesRatchetUnchanged() throws {
        var pair = try Pair()
        try pair.converse()
        _ = try pair.fromJoiner("lost")
        let message = try pair.fromJoiner("whole")
        let before = pair.inviter.encoded
        var generator = SeededGenerator(state: 9)
        for place in stride(from: 0, to: message.count, by: 3) {
            var damaged = message
            damaged[place] ^= UInt8(1) << UInt8.random(in: 0..<8, using: &generator)
            #expect(throws: RatchetError.self) { try pair.toInviter(damaged) }
        }
        for count in 0..<message.count {
            #expect(throws: RatchetError.self) { try pair.toInviter(Array(message.prefix(count))) }
        }
        expect(.bodyNotAuthentic) { try pair.toInviter(message + [0]) }
        #expect(pair.inviter.encoded == before)
        #expect(try pair.toInviter(message) == "whole")
    }

    @Test func damagedMessageOfNewChainGeneratesNoKey() throws {
        var pair = try Pair(
            joiner: .init(postQuantum: true), inviter: .init(postQuantum: true), kem: true, proposing: true)
        try pair.converse()
        var message = try pair.fromJoiner("whole")
        message[message.count - 1] ^= 1
        // A source without keys.
        let random = KnownKeys()
        let tools = RatchetTools(random: random, kem: ToyKEM(random: random))
        expect(.bodyNotAuthentic) { try pair.inviter.decrypt(message, tools: tools) }
        message[message.count - 1] ^= 1
        #expect(try pair.toInviter(message) == "whole")
    }

    @Test func isMessageChecksFormOnly() throws {
        var pair = try Pair()
        let message = try pair.fromJoiner("text")
        #expect(Ratchet.isMessage(message))
        #expect(!Ratchet.isMessage([]) && !Ratchet.isMessage(Array("text".utf8)))
    }

    @Test func foreignMessagesAndVersionsAreRejected() throws {
        var pair = try Pair()
        var others = try Pair(seed: 2)
        expect(.headerNotAuthentic) { try pair.toInviter(others.fromJoiner("not yours")) }
        expect(.malformed) { try pair.toInviter([]) }
        var message = try pair.fromJoiner("later version")
        message[3] = 4
        expect(.unsupportedVersion) { try pair.toInviter(message) }
        message[3] = 1
        expect(.unsupportedVersion) { try pair.toInviter(message) }
        expect(.tooLong) { try pair.joiner.encrypt([UInt8](repeating: 1, count: 15_839), paddedTo: 15_840) }
        #expect(
            try pair.joiner.encrypt([UInt8](repeating: 1, count: 15_838), paddedTo: 15_840).count == 15_982)
    }

    @Test func exhaustedChainCannotSend() throws {
        var pair = try Pair()
        pair.joiner.sending?.messageNumber = UInt32.max
        expect(.exhausted) { try pair.fromJoiner("one too many") }
    }

    @Test func keysOfSmallOrderAreRejected() throws {
        let zero = try #require(X448PublicKey(rawValue: [UInt8](repeating: 0, count: 56)))
        let good = try X448Key.known(9).publicKey
        let random = SeededKeys(3)
        for parameters in [
            AgreementParameters(version: 3, first: zero, second: good),
            AgreementParameters(version: 3, first: good, second: zero),
        ] {
            expect(.invalidKey) {
                try Ratchet.joining(
                    .generate(random: random), inviter: parameters, settings: .init(),
                    tools: RatchetTools(random: random))
            }
            expect(.invalidKey) {
                try Ratchet.inviting(
                    .generate(random: random), joiner: parameters, settings: .init(),
                    tools: RatchetTools(random: random))
            }
        }
    }

    @Test func malformedParametersAreRejected() throws {
        let keys = try Known.inviter(kem: ToyKEM(random: SeededKeys(4)).generate())
        for version in [UInt16(2), 3] {
            let encoded = keys.parameters(version: version).encoded
            var reader = ByteReader(encoded + [1, 2])
            #expect(try AgreementParameters(from: &reader) == keys.parameters(version: version))
            #expect(reader.rest() == [1, 2])
            for count in 0..<encoded.count {
                expect(.malformed) {
                    var short = ByteReader(Array(encoded.prefix(count)))
                    return try AgreementParameters(from: &short)
                }
            }
        }
        #expect(keys.parameters(version: 2).kem == nil)
        for version in [UInt8(1), 4] {
            expect(.unsupportedVersion) {
                var reader = ByteReader([0, version] + keys.parameters(version: 3).encoded.dropFirst(2))
                return try AgreementParameters(from: &reader)
            }
        }
    }
}
