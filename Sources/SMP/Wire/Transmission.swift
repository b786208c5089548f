import Base
import Cryptography

/// One command or answer with its authorisation, correlation id and entity id.
public struct Transmission: Hashable, Sendable {
    /// 64 bytes of Ed25519, 80 of an authenticator, or empty. Answers have none.
    public var authorization: [UInt8]
    /// 24 bytes, or empty for unsolicited transmissions.
    public var correlationID: [UInt8]
    /// The id of a recipient, sender or link, or empty.
    public var entityID: [UInt8]
    /// An encoded command or answer.
    public var body: [UInt8]

    public static let correlationLength = 24

    public init(authorization: [UInt8] = [], correlationID: [UInt8], entityID: [UInt8], body: [UInt8]) {
        self.authorization = authorization
        self.correlationID = correlationID
        self.entityID = entityID
        self.body = body
    }

    /// The bytes that an authorisation covers. They include the session id, which is not sent, so an authorisation
    /// holds in one session only.
    public func signedBytes(sessionID: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(byteString: sessionID)
        append(to: &bytes)
        return bytes
    }

    private func append(to bytes: inout [UInt8]) {
        bytes.append(byteString: correlationID)
        bytes.append(byteString: entityID)
        bytes += body
    }

    public func encoded(version: UInt16) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(byteString: authorization)
        // No signature of a service. The authorisation does not cover it.
        if version >= SMPVersion.withServices, !authorization.isEmpty { bytes.append(UInt8(ascii: "0")) }
        append(to: &bytes)
        return bytes
    }

    /// Returns nil for malformed bytes and for a signature of a service, which no client here is.
    public init?(decoding bytes: [UInt8], version: UInt16) {
        var reader = ByteReader(bytes)
        guard let authorization = reader.byteString() else { return nil }
        if version >= SMPVersion.withServices, !authorization.isEmpty {
            guard reader.byte() == UInt8(ascii: "0") else { return nil }
        }
        guard let correlationID = reader.byteString(), let entityID = reader.byteString() else { return nil }
        self.init(
            authorization: authorization, correlationID: correlationID, entityID: entityID,
            body: reader.rest())
    }
}

/// The transmissions of one block.
public enum Batch {
    /// Returns the content of a block.
    /// - Parameter transmissions: 1 to 255 encoded transmissions; see `fits`.
    public static func encode(_ transmissions: [[UInt8]]) -> [UInt8] {
        var content: [UInt8] = []
        content.append(list: transmissions) { $0.append(large: $1) }
        return content
    }

    /// Returns the encoded transmissions of a block, or nil if the content is malformed.
    public static func decode(_ content: [UInt8]) -> [[UInt8]]? {
        var reader = ByteReader(content)
        guard let transmissions = reader.list({ $0.large() }), reader.remaining == 0 else { return nil }
        return transmissions
    }

    /// Returns how many of the first transmissions fit into the next block, 0 if the first is too long for any.
    static func count(_ transmissions: some Sequence<[UInt8]>) -> Int {
        var (capacity, count) = (TransportBlock.capacity - 1, 0)
        for transmission in transmissions {
            capacity -= 2 + transmission.count
            guard capacity >= 0, count < 255 else { break }
            count += 1
        }
        return count
    }
}
