import Base
import Cryptography

@testable import Ratchet

extension Target {
    /// What two people write to each other, and how that is stored.
    static let ratchet = [
        Target("ratchet-state", "stored states of an encrypted connection", longest: 8192) { bytes in
            guard var ratchet = try? Ratchet(decoding: WipedBytes(bytes)) else { return }
            hold(ratchet.encoded.bytes == bytes, "a state has one form")
            let before = ratchet.encoded
            if (try? ratchet.decrypt(RatchetFixture.message, tools: RatchetFixture.tools)) == nil {
                hold(ratchet.encoded == before, "a refusal changes nothing")
            }
            if let sealed = try? ratchet.encrypt([1, 2, 3], paddedTo: 16) {
                hold(sealed.count > 16, "something is sent")
                hold((try? Ratchet(decoding: ratchet.encoded)) != nil, "what is stored can be read")
            }
        },
        Target("ratchet-message", "encrypted messages, and first keys", longest: 4096) { bytes in
            var input = Input(bytes)
            let (isMade, place, flipped) = (input.bool(), Int(input.integer() & 0xFFF), input.byte())
            var message = isMade ? RatchetFixture.message : input.rest()
            if isMade, place < message.count { message[place] ^= flipped }
            var ratchet = RatchetFixture.inviter
            let text = try? ratchet.decrypt(message, tools: RatchetFixture.tools)
            hold(text == nil || message == RatchetFixture.message, "only what was sent is read")
            if text == nil {
                hold(ratchet.encoded == RatchetFixture.inviter.encoded, "a refusal changes nothing")
            }
            var reader = ByteReader(bytes)
            if let parameters = try? AgreementParameters(from: &reader) {
                hold(bytes.starts(with: parameters.encoded), "parameters have one form")
                _ = try? Ratchet.inviting(
                    RatchetFixture.keys, joiner: parameters, settings: .init(), tools: RatchetFixture.tools)
            }
            for version in RatchetVersion.supported {
                if let header = MessageHeader(decoding: bytes, version: version) {
                    hold(header.encoded(version: version) == bytes, "a header has one form")
                }
            }
        },
    ]
}

/// Two ends and a message between them, made once.
private enum RatchetFixture {
    static let tools = RatchetTools()
    static let keys = AgreementKeys.generate()
    private static let pair: (inviter: Ratchet, message: [UInt8]) = {
        guard
            let joined = try? Ratchet.joining(
                .generate(), inviter: keys.parameters(version: 3), settings: .init(), tools: tools),
            let inviter = try? Ratchet.inviting(
                keys, joiner: joined.parameters, settings: .init(), tools: tools)
        else { fatalError("the fixture cannot be made") }
        var joiner = joined.ratchet
        guard let message = try? joiner.encrypt([1, 2, 3], paddedTo: 64) else {
            fatalError("the fixture cannot be made")
        }
        return (inviter, message)
    }()
    static let inviter = pair.inviter
    static let message = pair.message
}
