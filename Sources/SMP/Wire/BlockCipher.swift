import Base
import Cryptography

/// Encrypts the blocks of one connection, each with its own key. Blocks must come in order in both directions. After a
/// failure the connection is unusable.
public struct BlockCipher: Sendable {
    public enum Side: Sendable {
        case client
        case server
    }

    private(set) var sending: WipedBytes
    private(set) var receiving: WipedBytes

    /// - Parameters:
    ///   - secret: The agreement of both session keys, 32 bytes.
    ///   - sessionID: The channel binding.
    public init(secret: WipedBytes, sessionID: [UInt8], side: Side) {
        let derived = HKDF.derive(
            from: secret, salt: WipedBytes(sessionID), info: "SimpleXSbChainInit", count: 64)
        let (fromServer, fromClient) = (derived[0..<32], derived[32..<64])
        (sending, receiving) = side == .client ? (fromClient, fromServer) : (fromServer, fromClient)
    }

    /// Returns a block of 16,384 bytes.
    /// - Parameter content: at most `TransportBlock.capacity` bytes.
    public mutating func seal(_ content: [UInt8]) -> [UInt8] {
        let step = Self.step(&sending)
        guard
            let block = MessageBox.seal(
                content, paddedTo: TransportBlock.encryptedContent, key: step.key, nonce: step.nonce)
        else { preconditionFailure("more than a block holds") }
        return block
    }

    /// Decrypts the next block.
    /// - Throws: `.malformed` for bytes of another length, `.notAuthentic`.
    public mutating func open(_ block: [UInt8]) throws(SMPError) -> [UInt8] {
        guard block.count == TransportBlock.size else { throw .malformed }
        let step = Self.step(&receiving)
        guard let content = MessageBox.openPadded(block, key: step.key, nonce: step.nonce) else {
            throw .notAuthentic
        }
        return content
    }

    static func step(_ chain: inout WipedBytes) -> (key: WipedBytes, nonce: [UInt8]) {
        let derived = HKDF.derive(from: chain, info: "SimpleXSbChain", count: 88)
        chain = derived[0..<32]
        return (derived[32..<64], derived[64..<88].bytes)
    }
}
