/// The IDs of a new chunk, assigned by the relay.
public struct CreatedChunkIDs: Hashable, Sendable {
    public let senderID: [UInt8]
    /// In the order of the keys.
    public let recipientIDs: [[UInt8]]
}
