import Base
import Cryptography
import TestSupport
import Testing

@testable import Ratchet

/// Keys and messages of an independent implementation that was tested against the official programs.
@Suite struct VectorTests {
    @Test func keyAgreementMatchesVectors() throws {
        let vector = try VectorValue.file("x3dh")
        let (inviter, joiner) = (try Known.inviter(), try Known.joiner())
        #expect(try inviter.first.publicKey.rawValue == vector["initiator_pub1"].bytes)
        #expect(try inviter.second.publicKey.rawValue == vector["initiator_pub2"].bytes)
        #expect(try joiner.first.publicKey.rawValue == vector["joiner_pub1"].bytes)
        #expect(try joiner.second.publicKey.rawValue == vector["joiner_pub2"].bytes)
        #expect(
            try joiner.second.sharedSecret(with: inviter.first.publicKey).bytes
                == vector["dh1_joiner2_initiator1"].bytes)
        for agreement in [
            try KeyAgreement.joining(joiner, inviter: inviter.parameters(version: 3), kemSecret: nil),
            try KeyAgreement.inviting(inviter, joiner: joiner.parameters(version: 3), kemSecret: nil),
        ] {
            #expect(try agreement.headerKey.bytes == vector["header_key"].bytes)
            #expect(try agreement.nextHeaderKey.bytes == vector["next_header_key"].bytes)
            #expect(try agreement.rootKey.bytes == vector["root"].bytes)
            #expect(try agreement.associatedData == vector["associated_data"].bytes)
        }
    }

    @Test(arguments: [UInt16(2), 3])
    func conversationMatchesVectors(version: UInt16) throws {
        let vector = try VectorValue.file("ratchet_v\(version)")
        let settings = RatchetSettings(maxVersion: version)
        var (joiner, parameters) = try Ratchet.joining(
            Known.joiner(), inviter: Known.inviter().parameters(version: version), settings: settings,
            tools: RatchetTools(random: KnownKeys(5)))
        let begun = try vector["after_init"]
        #expect(try joiner.rootKey.bytes == begun["root"].bytes)
        #expect(try joiner.sending?.chainKey.bytes == begun["sending_chain"].bytes)
        #expect(try joiner.nextSendingHeaderKey.bytes == begun["next_sending_header_key"].bytes)
        let step = KeyDerivation.kdfCK(try #require(joiner.sending).chainKey)
        #expect(try step.key.key.bytes == vector["chain_step_1"]["message_key"].bytes)
        #expect(try step.key.nonce == vector["chain_step_1"]["iv_message"].bytes)
        #expect(try step.headerNonce == vector["chain_step_1"]["iv_header"].bytes)
        #expect(try step.chainKey.bytes == vector["chain_step_1"]["next_chain"].bytes)

        let size = MessageSize.message(joiner)
        let plain = Array(try vector["message_1"]["plain"].text.utf8)
        let first = try joiner.encrypt(plain, paddedTo: size)
        #expect(try vector["message_1"].describes(first, sha256: SHA256.hash))

        var inviter = try Ratchet.inviting(
            Known.inviter(), joiner: parameters, settings: settings, tools: RatchetTools())
        let tools = RatchetTools(random: KnownKeys(6, 8))
        #expect(try inviter.decrypt(first, tools: tools) == plain)
        let after = try vector["initiator_after_1 (new dh private = 06 x56)"]
        #expect(try inviter.rootKey.bytes == after["root"].bytes)
        #expect(try inviter.sending?.chainKey.bytes == after["sending_chain"].bytes)
        #expect(try inviter.sending?.headerKey.bytes == after["hks"].bytes)
        #expect(try inviter.receiving?.chainKey.bytes == after["receiving_chain"].bytes)
        #expect(try inviter.receiving?.chain.headerKey.bytes == after["hkr"].bytes)
        #expect(try inviter.nextSendingHeaderKey.bytes == after["nhks"].bytes)
        #expect(try inviter.nextReceivingHeaderKey.bytes == after["nhkr"].bytes)
    }

    @Test(arguments: [UInt16(2), 3])
    func firstHeaderMatchesVectors(version: UInt16) throws {
        let vector = try VectorValue.file("ratchet_v\(version)")
        let published = try vector["header_plain_1"].bytes
        let header = MessageHeader(
            maxVersion: version, key: try X448Key.known(5).publicKey, kem: nil, previousChainLength: 0,
            number: 0)
        #expect(header.encoded(version: version) == published)
        let read = try #require(MessageHeader(decoding: published, version: version))
        #expect(read.encoded(version: version) == published)
        #expect(MessageHeader(decoding: published + [0], version: version) == nil)
        #expect(MessageHeader(decoding: published.dropLast(), version: version) == nil)
    }

    @Test func firstMessageWithKEMMatchesVectors() throws {
        let vector = try VectorValue.file("ratchet_pq")
        let inviterKEM = try #require(
            KEMKey(
                publicKey: vector["initiator_kem_public"].bytes,
                secretKey: WipedBytes(vector["initiator_kem_secret"].bytes)))
        // The vectors omit the private half of the joiner's next key, which this message does not need.
        let joinerKEM = try #require(
            KEMKey(
                publicKey: vector["joiner_kem_public"].bytes,
                secretKey: WipedBytes([UInt8](repeating: 0, count: KEMLength.secretKey))))
        let encapsulated = try #require(
            Encapsulation(
                ciphertext: vector["joiner_ciphertext"].bytes, secret: WipedBytes(vector["shared"].bytes)))
        let kem = RecordedKEM(keys: [joinerKEM], encapsulations: [encapsulated])
        let settings = RatchetSettings(postQuantum: true)
        var (joiner, parameters) = try Ratchet.joining(
            Known.joiner(), inviter: Known.inviter(kem: inviterKEM).parameters(version: 3),
            settings: settings,
            tools: RatchetTools(random: KnownKeys(5), kem: kem))
        #expect(try parameters.encoded == vector["e2e_params"].bytes)
        #expect(try joiner.rootKey.bytes == vector["joiner_after_init"]["root"].bytes)
        #expect(try joiner.nextSendingHeaderKey.bytes == vector["joiner_after_init"]["nhks"].bytes)
        let plain = Array(try vector["plain"].text.utf8)
        let message = try joiner.encrypt(plain, paddedTo: MessageSize.confirmation(joiner))
        let published = try vector["message"].bytes
        #expect(message.elementsEqual(published))
        #expect(joiner.isPostQuantum == (true, false))

        let agreement = try KeyAgreement.inviting(
            Known.inviter(), joiner: parameters, kemSecret: encapsulated.secret)
        #expect(try agreement.headerKey.bytes == vector["x3dh_out"]["hk"].bytes)
        #expect(try agreement.nextHeaderKey.bytes == vector["x3dh_out"]["nhk"].bytes)
        #expect(try agreement.rootKey.bytes == vector["x3dh_out"]["root"].bytes)

        // With the real KEM: decapsulate the published ciphertext.
        let tools =
            if let installed = GcryptKEM.installed {
                RatchetTools(kem: installed)
            } else {
                RatchetTools(
                    kem: RecordedKEM(keys: [inviterKEM], encapsulations: [encapsulated]))
            }
        var inviter = try Ratchet.inviting(
            Known.inviter(kem: inviterKEM), joiner: parameters, settings: settings, tools: tools)
        #expect(try inviter.decrypt(published, tools: tools) == plain)
        #expect(inviter.isPostQuantum == (true, true))
    }
}
