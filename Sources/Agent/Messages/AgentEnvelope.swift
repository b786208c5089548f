import Base
import Ratchet

/// What lies in the box of a queue, and is mostly encrypted further:
///
///     agent version Word16 · letter · by letter:
///     C  ? agreement parameters · message of the ratchet to the end
///     M  message of the ratchet to the end
///     I  full link with a 2-byte length · information to the end
///     R  agreement parameters · information to the end
struct AgentEnvelope: Hashable, Sendable {
    /// What was agreed on in a confirmation, the sender's own maximum elsewhere.
    var version: UInt16
    var content: Content

    enum Content: Hashable, Sendable {
        /// The first message of each side; the joiner's has its keys.
        case confirmation(parameters: AgreementParameters?, message: [UInt8])
        case message([UInt8])
        /// A request at an address: an invitation to who owns it. Readable for who owns the queue's key.
        case invitation(link: String, information: [UInt8])
        /// New keys for a ratchet that does not work any more.
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

    /// nil for anything else, and for parameters of an encryption that is not known.
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
