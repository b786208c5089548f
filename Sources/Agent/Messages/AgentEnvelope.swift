import Base
import Ratchet

/// The agent envelope inside a queue's box.
///
///     agent version Word16 · letter · rest:
///     C  ? ratchet parameters · ratchet message to the end
///     M  ratchet message to the end
///     I  full link with a 2-byte length · connection information to the end
///     R  ratchet parameters · information to the end
struct AgentEnvelope: Hashable, Sendable {
    /// The agreed version in a confirmation; otherwise the sender's maximum.
    var version: UInt16
    var content: Content

    enum Content: Hashable, Sendable {
        /// `C`: the first message of each side. The joiner's contains its ratchet parameters.
        case confirmation(parameters: AgreementParameters?, message: [UInt8])
        case message([UInt8])
        /// `I`: a request to an address, with an invitation for its owner. Encrypted only by the queue's box.
        case invitation(link: String, information: [UInt8])
        /// `R`: new keys to replace a broken ratchet.
        case keys(AgreementParameters, information: [UInt8])
    }

    init(version: UInt16, _ content: Content) {
        self.version = version
        self.content = content
    }

    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: version)
        switch content {
        case .confirmation(let parameters, let message):
            bytes.append(UInt8(ascii: "C"))
            bytes.append(optional: parameters) { $0 += $1.encoded }
            bytes += message
        case .message(let message):
            bytes.append(UInt8(ascii: "M"))
            bytes += message
        case .invitation(let link, let information):
            bytes.append(UInt8(ascii: "I"))
            bytes.append(large: Array(link.utf8))
            bytes += information
        case .keys(let parameters, let information):
            bytes.append(UInt8(ascii: "R"))
            bytes += parameters.encoded + information
        }
        return bytes
    }

    /// Returns nil for any other input and for unknown ratchet versions.
    init?(decoding bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard let version = reader.integer(UInt16.self) else { return nil }
        switch reader.byte() {
        case UInt8(ascii: "C"):
            guard let parameters = reader.optional({ $0.agreementParameters() }) else { return nil }
            content = .confirmation(parameters: parameters, message: reader.rest())
        case UInt8(ascii: "M"): content = .message(reader.rest())
        case UInt8(ascii: "I"):
            guard let link = reader.large().flatMap({ String(validating: $0, as: UTF8.self) }) else {
                return nil
            }
            content = .invitation(link: link, information: reader.rest())
        case UInt8(ascii: "R"):
            guard let parameters = reader.agreementParameters() else { return nil }
            content = .keys(parameters, information: reader.rest())
        default: return nil
        }
        self.version = version
    }
}

extension ByteReader {
    fileprivate mutating func agreementParameters() -> AgreementParameters? {
        var ahead = self
        guard let parameters = try? AgreementParameters(from: &ahead) else { return nil }
        self = ahead
        return parameters
    }
}
