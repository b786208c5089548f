import Base

/// What people write beside files. Each chat with messages has a log: JSON Lines that are only ever added to
/// (`docs/semantics.md`, "Texts"). That one has grown is told by `.messageLogGrew`.
public protocol TextKeeping: OpenProfile {
    /// The logs of all chats that have one.
    func messageLogs() async throws(ChatError) -> [ChatReference: MessageLog]

    /// Up to `count` bytes of a chat's log from `offset` on: at least one, except at its end.
    /// - Throws: `.noSuchChat`.
    func messageLog(
        of chat: ChatReference, from offset: UInt64, count: Int
    ) async throws(ChatError) -> [UInt8]
}

extension TextKeeping {
    /// For cores that keep none.
    public func messageLogs() async throws(ChatError) -> [ChatReference: MessageLog] { [:] }
    public func messageLog(
        of chat: ChatReference, from offset: UInt64, count: Int
    ) async throws(ChatError) -> [UInt8] { throw ChatError(.noSuchChat, "This core keeps no texts.") }
}

/// How long the log of a chat is at one moment.
public struct MessageLog: Hashable, Sendable {
    public var size: UInt64
    /// When it grew last.
    public var modified: Timestamp

    public init(size: UInt64, modified: Timestamp) {
        self.size = size
        self.modified = modified
    }
}
