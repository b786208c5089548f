import Base

/// What a message is called by both sides, 1 to 255 bytes that mean nothing. In text base64url.
public struct SharedMessageID: Hashable, Sendable, CustomStringConvertible {
    public let bytes: [UInt8]

    /// nil for none, or too many bytes.
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

    /// One that nobody else has: 12 random bytes.
    public init(from random: some RandomSource) { bytes = random.bytes(12) }

    public var text: String { Base64URL.encode(bytes) }
    public var description: String { "message" }
}

/// What a member of a group is called by the others, 1 to 255 bytes that mean nothing.
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
