import Base
import Cryptography
import Network
import TestSupport
import Testing

@testable import RemoteControl

/// Changed and forged transmissions of a phone.
@Suite struct HostileBytesTests {
    @Test func changedHellosAreRefused() throws {
        let recorded = try RecordedSession.all()[0]
        let block = try recorded.vector["hostHello"]["block"].bytes
        let (key, authority) = (try recorded.agreement, try recorded.phoneAuthority)
        var generator = SeededGenerator(state: 3)
        // The padding of the block itself is not authenticated.
        for place in (0..<90).map({ _ in Int.random(in: 0..<12_379, using: &generator) }) + [0, 1, 8, 9] {
            var changed = block
            changed[place] ^= 1 << UInt8.random(in: 0...7, using: &generator)
            #expect(throws: RemoteControlError.self) {
                try PhoneHello(changed, key: key, authority: authority, versions: RecordedSession.versions)
            }
        }
        for count in [0, 1, 2, 100, 16_383, 16_385] {
            let other = Array(block.prefix(count)) + [UInt8](repeating: 0, count: max(0, count - block.count))
            #expect(throws: RemoteControlError.self) {
                try PhoneHello(other, key: key, authority: authority, versions: RecordedSession.versions)
            }
        }
    }

    @Test func foreignHellosHaveTheirErrors() throws {
        let recorded = try RecordedSession.all()[0]
        let block = try recorded.vector["hostHello"]["block"].bytes
        func code(_ key: AgreementKey, _ authority: [UInt8], _ versions: AppVersionRange) throws
            -> RemoteControlErrorCode?
        {
            do {
                _ = try PhoneHello(block, key: key, authority: authority, versions: versions)
                return nil
            } catch { return error.code }
        }
        let (key, authority) = (try recorded.agreement, try recorded.phoneAuthority)
        let earlier = try #require(AppVersionRange(AppVersion("6.3")!, AppVersion("6.4.5")!))
        #expect(try code(key, authority, RecordedSession.versions) == nil)
        #expect(try code(.generate(), authority, RecordedSession.versions) == .notAuthentic)
        #expect(try code(key, [UInt8](repeating: 0, count: 32), RecordedSession.versions) == .identity)
        #expect(try code(key, authority, earlier) == .incompatible)
    }

    @Test func changedAnswersAreRefused() throws {
        let recorded = try RecordedSession.all()[0]
        let exchange = try recorded.vector["exchanges"].list[0]
        let answer = try exchange["response"].bytes
        for place in answer.indices {
            var changed = answer
            changed[place] ^= 0x10
            var chain = ReceivingChain(try recorded.controllerHello().receiving)
            #expect(throws: (any Error).self) {
                try CollectedAnswer(changed, channelBinding: recorded.channelBinding) {
                    try chain.keys(of: $0)
                }
            }
        }
    }

    @Test func changedAttachmentsAreRefused() throws {
        let recorded = try RecordedSession.all()[0]
        let exchanges = try recorded.vector["exchanges"].list
        let answer = try exchanges[6]["response"].bytes
        var generator = SeededGenerator(state: 4)
        let attachment = (answer.count - 1280 - 21)..<answer.count
        for place in Array(attachment.prefix(5)) + attachment.suffix(16)
            + (0..<40).map({ _ in Int.random(in: attachment, using: &generator) })
        {
            var changed = answer
            changed[place] ^= 1
            #expect(throws: (any Error).self) {
                try Self.read(changed, recorded, number: 7)
            }
        }
        for count in [answer.count - 1, answer.count - 17, attachment.lowerBound + 1] {
            #expect(throws: (any Error).self) {
                try Self.read(Array(answer.prefix(count)), recorded, number: 7)
            }
        }
        #expect(throws: (any Error).self) { try Self.read(answer + [0], recorded, number: 7) }
        #expect(try Self.read(answer, recorded, number: 7).content.count == 1280)
    }

    @Test func answersOfAnotherConnectionAreRefused() throws {
        let recorded = try RecordedSession.all()[0]
        let answer = try recorded.vector["exchanges"].list[0]["response"].bytes
        var chain = ReceivingChain(try recorded.controllerHello().receiving)
        #expect(throws: RemoteControlError.self) {
            try CollectedAnswer(answer, channelBinding: [UInt8](repeating: 1, count: 32)) {
                try chain.keys(of: $0)
            }
        }
    }

    @Test func longAnswersAreRefusedByTheirHead() throws {
        var reader = ResponseReader(channelBinding: [])
        var head: [UInt8] = []
        head.append(bigEndian: UInt32(1))
        head.append(bigEndian: UInt32(ResponseReader.longestBody + 1))
        let error = #expect(throws: RemoteControlError.self) {
            try head.withUnsafeBytes { head in
                try reader.receive(head, keys: { _ in throw NetworkError(.closed, "asked for keys") }) { _ in
                }
            }
        }
        #expect(error?.code == .malformed, "the request may have been performed")
    }

    private static func read(
        _ answer: [UInt8], _ recorded: RecordedSession, number: UInt32
    ) throws -> CollectedAnswer {
        var chain = ReceivingChain(try recorded.controllerHello().receiving)
        for earlier in 1..<number { _ = try chain.keys(of: earlier) }
        return try CollectedAnswer(answer, channelBinding: recorded.channelBinding) {
            try chain.keys(of: $0)
        }
    }
}

@Suite struct ReceivingChainTests {
    private static func chain() -> ReceivingChain {
        let secret = WipedBytes([UInt8](repeating: 1, count: 32))
        return ReceivingChain(MessageChain.begin(agreement: secret, encapsulated: secret).receiving)
    }

    private static func keys(_ numbers: [UInt32]) throws -> [UInt32: [UInt8]] {
        var chain = chain()
        return Dictionary(
            uniqueKeysWithValues: try numbers.map { ($0, try chain.keys(of: $0).body.key.bytes) })
    }

    @Test func orderOfAnswersDoesNotMatter() throws {
        #expect(try Self.keys([1, 2, 3, 4, 5]) == Self.keys([4, 1, 5, 3, 2]))
    }

    @Test func eachNumberCountsOnce() throws {
        var chain = Self.chain()
        _ = try chain.keys(of: 3)
        _ = try chain.keys(of: 1)
        for number: UInt32 in [0, 1, 3] {
            #expect(throws: RemoteControlError.self) { try chain.keys(of: number) }
        }
        _ = try chain.keys(of: 2)
    }

    @Test func gapsAreLimited() throws {
        var chain = Self.chain()
        _ = try chain.keys(of: 257)
        let error = #expect(throws: RemoteControlError.self) { try chain.keys(of: 257 + 258) }
        #expect(error?.code == .malformed, "the request may have been performed")
        _ = try chain.keys(of: 257 + 257)
    }

    @Test func keysOfLostAnswersAreDropped() throws {
        var chain = Self.chain()
        for number in stride(from: UInt32(200), through: 2000, by: 200) { _ = try chain.keys(of: number) }
        #expect(throws: RemoteControlError.self) { try chain.keys(of: 1) }
        _ = try chain.keys(of: 1999)
    }
}
