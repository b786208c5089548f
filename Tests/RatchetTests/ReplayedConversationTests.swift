import Base
import Cryptography
import TestSupport
import Testing

@testable import Ratchet

/// The rest of the published conversations: a lost message, a late one, an answer, and a message after it.
@Suite struct ReplayedConversationTests {
    @Test(arguments: [UInt16(2), 3])
    func lateMessagesAndAnswersMatchVectors(version: UInt16) throws {
        let vector = try VectorValue.file("ratchet_v\(version)")
        let settings = RatchetSettings(maxVersion: version)
        let joinerTools = RatchetTools(random: KnownKeys(5, 7))
        var (joiner, parameters) = try Ratchet.joining(
            Known.joiner(), inviter: Known.inviter().parameters(version: version), settings: settings,
            tools: joinerTools)
        let inviterTools = RatchetTools(random: KnownKeys(6, 8))
        var inviter = try Ratchet.inviting(
            Known.inviter(), joiner: parameters, settings: settings, tools: inviterTools)
        let size = MessageSize.message(joiner)

        let first = try joiner.encrypt(Array("first from joiner".utf8), paddedTo: size)
        #expect(try inviter.decrypt(first, tools: inviterTools) == Array("first from joiner".utf8))
        let second = try joiner.encrypt(Array("second from joiner".utf8), paddedTo: size)
        #expect(try vector["message_2"].describes(second, sha256: SHA256.hash))
        let third = try joiner.encrypt(Array("third from joiner".utf8), paddedTo: size)
        #expect(try vector["message_3"].describes(third, sha256: SHA256.hash))

        #expect(try inviter.decrypt(third, tools: inviterTools) == Array("third from joiner".utf8))
        let skipped = try #require(inviter.receiving?.chain.skipped.first)
        #expect(inviter.receiving?.chain.skipped.count == 1 && skipped.number == 1)
        let published = try vector["skipped_after_message_3"]["1"]
        #expect(try skipped.key.key.bytes == published[0].bytes)
        #expect(try skipped.key.nonce == published[1].bytes)
        #expect(try inviter.decrypt(second, tools: inviterTools) == Array("second from joiner".utf8))
        #expect(inviter.receiving?.chain.skipped.isEmpty == true)

        let reply = try inviter.encrypt(Array("reply from initiator".utf8), paddedTo: size)
        #expect(try vector["reply_1"].describes(reply, sha256: SHA256.hash))
        #expect(try joiner.decrypt(reply, tools: joinerTools) == Array("reply from initiator".utf8))
        let after = try vector["joiner_after_reply (new dh private = 07 x56)"]
        #expect(try joiner.rootKey.bytes == after["root"].bytes)
        #expect(try joiner.sending?.chainKey.bytes == after["sending_chain"].bytes)
        #expect(try joiner.nextSendingHeaderKey.bytes == after["nhks"].bytes)
        #expect(try joiner.nextReceivingHeaderKey.bytes == after["nhkr"].bytes)

        let fourth = try joiner.encrypt(Array("fourth from joiner".utf8), paddedTo: size)
        #expect(try vector["message_4"].describes(fourth, sha256: SHA256.hash))
        let header = try MessageEnvelope(decoding: fourth).header(
            with: inviter.nextReceivingHeaderKey, associatedData: inviter.associatedData)
        #expect(
            try [Int(#require(header).previousChainLength), Int(#require(header).number)]
                == vector["header_plain_4_pn_n"].list.map { try $0.number })
        #expect(try inviter.decrypt(fourth, tools: inviterTools) == Array("fourth from joiner".utf8))
    }
}
