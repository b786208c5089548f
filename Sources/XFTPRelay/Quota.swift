/// The parts of records, which strangers can create too, in the relay's disk quota. Stored chunks and active uploads
/// count as well.
enum Quota {
    /// The maximum database space in bytes, with indexes, of a chunk's record and of each recipient's.
    static let chunkRecord: UInt64 = 512
    static let recipientRecord: UInt64 = 256

    static func record(recipients: Int) -> UInt64 { chunkRecord + UInt64(recipients) * recipientRecord }
}
