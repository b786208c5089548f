/// Texts in chats. Each chat with messages has an append-only log of JSON Lines (`docs/reference/filesystem.md`, "Log of a chat"). `.messageLogGrew` reports growth.
public protocol TextKeeping: OpenProfile {
    /// Returns the logs of all chats with messages.
    /// - Throws: the common errors (`OpenProfile`).
    func messageLogs() async throws(ChatError) -> [ChatReference: MessageLog]

    /// Returns up to `count` bytes of a chat's log from `offset`, and at least one except at its end.
    /// - Throws: `.noSuchChat`.
    func messageLog(
        of chat: ChatReference, from offset: UInt64, count: Int
    ) async throws(ChatError) -> [UInt8]

    /// Sends a text without a file. It is sent once per id, across repetitions and crashes. On return the
    /// core has stored it.
    /// - Throws: `.noSuchChat`, `.sendingRefused`, `.tooLarge`; `.sendingUnsure` if it cannot be known
    ///   whether the core has it. After any other error it does not.
    func send(_ text: ComposedText, to chat: ChatReference) async throws(ChatError)
}

extension TextKeeping {
    /// For cores without logs.
    public func messageLogs() async throws(ChatError) -> [ChatReference: MessageLog] { [:] }
    public func messageLog(
        of chat: ChatReference, from offset: UInt64, count: Int
    ) async throws(ChatError) -> [UInt8] { throw ChatError(.noSuchChat, "This core keeps no texts.") }
    public func send(_ text: ComposedText, to chat: ChatReference) async throws(ChatError) {
        throw ChatError(.sendingRefused, "This core sends no texts.")
    }
}

/// A text to send.
public struct ComposedText: Hashable, Sendable {
    /// Maximum length in scalars, as in official apps; longer texts exceed a message.
    public static let longest = 15_000

    /// Idempotency key, 1 to 64 bytes.
    public var id: String
    public var text: String

    public init(id: String, text: String) {
        self.id = id
        self.text = text
    }

    /// - Throws: `.tooLarge`, `.invalidCommand` for an empty text.
    public func check() throws(ChatError) {
        guard !text.isEmpty else { throw ChatError(.invalidCommand, "There is no text to send.") }
        guard text.unicodeScalars.count <= Self.longest else { throw .textTooLong }
    }
}

extension ChatError {
    public static let textTooLong = ChatError(
        .tooLarge,
        "The text is too long for one message, which has space for about "
            + "\(ComposedText.longest) characters: send it as a file.")
}
