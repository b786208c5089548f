import Base

/// What people write beside files. Each chat with messages has a log: JSON Lines that are only ever added to
/// (`docs/semantics.md`, "Texts"). That one has grown is told by `.messageLogGrew`.
public protocol TextKeeping: OpenProfile {
    /// The logs of all chats that have one.
    /// - Throws: as every command (`OpenProfile`).
    func messageLogs() async throws(ChatError) -> [ChatReference: MessageLog]

    /// Up to `count` bytes of a chat's log from `offset` on: at least one, except at its end.
    /// - Throws: `.noSuchChat`.
    func messageLog(
        of chat: ChatReference, from offset: UInt64, count: Int
    ) async throws(ChatError) -> [UInt8]

    /// Sends a text without a file. It is sent once for each id, however often this is called and whoever dies in
    /// between: when this returns, the core has it durably, and the same id again does nothing.
    /// - Throws: `.noSuchChat`, `.sendingRefused`, `.tooLarge`; `.sendingUnsure` when it cannot be known whether the core
    ///   has it. After any other error it does not.
    func send(_ text: ComposedText, to chat: ChatReference) async throws(ChatError)
}

extension TextKeeping {
    /// For cores that keep none.
    public func messageLogs() async throws(ChatError) -> [ChatReference: MessageLog] { [:] }
    public func messageLog(
        of chat: ChatReference, from offset: UInt64, count: Int
    ) async throws(ChatError) -> [UInt8] { throw ChatError(.noSuchChat, "This core keeps no texts.") }
    public func send(_ text: ComposedText, to chat: ChatReference) async throws(ChatError) {
        throw ChatError(.sendingRefused, "This core sends no texts.")
    }
}

/// A text that is to be sent.
public struct ComposedText: Hashable, Sendable {
    /// What official programs take in one message; longer ones do not fit on their way either.
    public static let longest = 15_000

    /// The mark by which a repetition is known: 1 to 64 bytes.
    public var id: String
    public var text: String

    public init(id: String, text: String) {
        self.id = id
        self.text = text
    }

    /// - Throws: `.tooLarge`, `.invalidCommand` for nothing at all.
    public func check() throws(ChatError) {
        guard !text.isEmpty else { throw ChatError(.invalidCommand, "There is no text to send.") }
        guard text.unicodeScalars.count <= Self.longest else { throw .textTooLong }
    }
}

extension ChatError {
    /// More than fits into one message.
    public static let textTooLong = ChatError(
        .tooLarge,
        "The text is too long for one message, which has space for about "
            + "\(ComposedText.longest) characters: send it as a file.")
}
