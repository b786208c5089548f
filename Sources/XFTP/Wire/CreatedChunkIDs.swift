/// IDs that a relay gave to a new chunk.
public struct CreatedChunkIDs: Hashable, Sendable {
    public let senderID: [UInt8]
    /// In the order of the keys.
    public let recipientIDs: [[UInt8]]
}
