import Base

/// A message's shared id: 1 to 255 opaque bytes, base64url in text.
public struct SharedMessageID: Hashable, Sendable, CustomStringConvertible {
    public let bytes: [UInt8]

    /// nil for an empty or too long id.
    public init?(bytes: [UInt8]) {
        guard (1...ProtocolLimits.idLength).contains(bytes.count) else { return nil }
        self.bytes = bytes
    }

    public init?(text: String) {
        guard text.utf8.count <= 2 * ProtocolLimits.idLength, let bytes = Base64URL.decode(text) else {
            return nil
        }
        self.init(bytes: bytes)
    }

    /// Generates a unique id of 12 random bytes.
    public init(from random: some RandomSource) { bytes = random.bytes(12) }

    public var text: String { Base64URL.encode(bytes) }
    public var description: String { "message" }
}

/// A member's id within a group: 1 to 255 opaque bytes.
public struct MemberID: Hashable, Sendable, CustomStringConvertible {
    public let bytes: [UInt8]

    public init?(bytes: [UInt8]) {
        guard (1...ProtocolLimits.idLength).contains(bytes.count) else { return nil }
        self.bytes = bytes
    }

    public init?(text: String) {
        guard text.utf8.count <= 2 * ProtocolLimits.idLength, let bytes = Base64URL.decode(text) else {
            return nil
        }
        self.init(bytes: bytes)
    }

    public var text: String { Base64URL.encode(bytes) }
    public var description: String { "member" }
}
