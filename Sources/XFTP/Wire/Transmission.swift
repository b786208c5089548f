import Base

/// One request or response in a block.
///
/// `block = pad(0x01 ‖ Word16 length ‖ signature ‖ sessionID ‖ correlationID ‖ entityID ‖ body)`. Each field but the
/// last has a 1-byte length. The signature covers all fields after it.
public struct Transmission: Hashable, Sendable {
    /// Ed25519 (64 bytes), Ed448 (114), or empty. Responses are unsigned.
    public var signature: [UInt8]
    /// The TLS channel binding.
    public var sessionID: [UInt8]
    /// Chosen by the client and echoed by the relay. Empty in practice.
    public var correlationID: [UInt8]
    /// A sender ID, a recipient ID, or empty.
    public var entityID: [UInt8]
    /// An encoded command or response.
    public var body: [UInt8]

    public init(
        signature: [UInt8] = [], sessionID: [UInt8], correlationID: [UInt8] = [], entityID: [UInt8] = [],
        body: [UInt8]
    ) {
        self.signature = signature
        self.sessionID = sessionID
        self.correlationID = correlationID
        self.entityID = entityID
        self.body = body
    }

    /// The bytes that the signature covers.
    public var signedBytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(byteString: sessionID)
        bytes.append(byteString: correlationID)
        bytes.append(byteString: entityID)
        return bytes + body
    }

    /// Returns the block, or nil if the transmission is too long.
    public func block() -> [UInt8]? {
        var transmission: [UInt8] = []
        transmission.append(byteString: signature)
        transmission += signedBytes
        guard transmission.count + 3 <= Block.capacity else { return nil }
        var message: [UInt8] = [1]
        message.append(large: transmission)
        return Block.pad(message)
    }

    /// Decodes the block at the start of `block`.
    /// - Throws: `.block`, the relay's response to it, also for a batch of several transmissions.
    public init(block: [UInt8]) throws(XFTPProtocolError) {
        guard let message = Block.unpad(block) else { throw .block }
        try self.init(message: message)
    }

    /// Decodes an unpadded block.
    init(message: [UInt8]) throws(XFTPProtocolError) {
        var reader = ByteReader(message)
        guard reader.byte() == 1, let transmission = reader.large(), reader.remaining == 0 else {
            throw .block
        }
        var fields = ByteReader(transmission)
        guard let signature = fields.byteString(), let sessionID = fields.byteString(),
            let correlationID = fields.byteString(), let entityID = fields.byteString()
        else { throw .block }
        self.signature = signature
        self.sessionID = sessionID
        self.correlationID = correlationID
        self.entityID = entityID
        body = fields.rest()
    }
}
