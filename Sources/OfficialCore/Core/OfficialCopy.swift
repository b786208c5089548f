import ChatCore

/// A copy of a file that only ChatFS has, from the rows of the index.
public struct OfficialCopy: Sendable {
    public let file: FileID
    /// The message's item; nil if unknown.
    public let item: ItemID?
    public let chat: ChatReference?
    public let name: String
    /// Bytes of plaintext; nil without a message.
    public let size: UInt64?
    public let source: FileSourceLocation
}
