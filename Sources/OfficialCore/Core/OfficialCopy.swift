import ChatCore

/// A copy of an official core's file that only ChatFS has, as its rows have it.
public struct OfficialCopy: Sendable {
    public let file: FileID
    /// Of the message; nil where the message is unknown.
    public let item: ItemID?
    public let chat: ChatReference?
    public let name: String
    /// Bytes of plaintext; nil where no message says.
    public let size: UInt64?
    public let source: FileSourceLocation
}
