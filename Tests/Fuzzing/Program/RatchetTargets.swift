import Base
import Cryptography

@testable import Ratchet

extension Target {
    /// Messages of two people and their stored ratchets.
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
            let kind = input.byte()
            let (isMade, place, flipped) = (kind & 1 == 1, Int(input.integer() & 0xFFF), input.byte())
            // The first message brings new keys, whose agreement takes as long as ten later messages.
            let exchange = kind & 0xF == 0xF ? RatchetFixture.first : RatchetFixture.second
            var message = isMade ? exchange.message : input.rest()
            if isMade, kind < 0xF0 { message[place % message.count] ^= max(flipped, 1) }
            var ratchet = exchange.ratchet
            let text = try? ratchet.decrypt(message, tools: RatchetFixture.tools)
            hold((text != nil) == (message == exchange.message), "only what was sent is read")
            if text == nil { hold(ratchet.encoded == exchange.encoded, "a refusal changes nothing") }
            guard !isMade else { return }
            var reader = ByteReader(bytes)
            if let parameters = try? AgreementParameters(from: &reader) {
                hold(bytes.starts(with: parameters.encoded), "parameters have one form")
                // As slow, and largely independent of the encoding.
                if place & 7 == 0 {
                    _ = try? Ratchet.inviting(
                        RatchetFixture.keys, joiner: parameters, settings: .init(),
                        tools: RatchetFixture.tools)
                }
            }
            for version in RatchetVersion.supported {
                if let header = MessageHeader(decoding: bytes, version: version) {
                    hold(header.encoded(version: version) == bytes, "a header has one form")
                }
            }
        },
    ]
}

/// Two ends and messages between them, created once.
private enum RatchetFixture {
    static let tools = RatchetTools()
    static let keys = AgreementKeys.generate()

    /// A message, and the ratchet of its recipient.
    struct Exchange {
        var ratchet: Ratchet
        var message: [UInt8]
        var encoded: WipedBytes

        init(_ ratchet: Ratchet, _ message: [UInt8]) {
            self.ratchet = ratchet
            self.message = message
            encoded = ratchet.encoded
        }
    }

    private static let exchanges: (first: Exchange, second: Exchange) = {
        guard
            let joined = try? Ratchet.joining(
                .generate(), inviter: keys.parameters(version: 3), settings: .init(), tools: tools),
            let inviter = try? Ratchet.inviting(
                keys, joiner: joined.parameters, settings: .init(), tools: tools)
        else { fatalError("the fixture cannot be made") }
        var joiner = joined.ratchet
        var reader = inviter
        guard let message = try? joiner.encrypt([1, 2, 3], paddedTo: 64),
            (try? reader.decrypt(message, tools: tools)) != nil,
            let next = try? joiner.encrypt([4, 5, 6], paddedTo: 64)
        else { fatalError("the fixture cannot be made") }
        return (Exchange(inviter, message), Exchange(reader, next))
    }()
    static let first = exchanges.first
    static let second = exchanges.second
    static let message = exchanges.first.message
}
