/// Sending messages with a file, and taking messages back.
///
/// A message is sent exactly once for each `ComposedMessage.id`, however often `send` is called and whoever dies in
/// between: when `send` returns, the core has it durably, and the same id again returns the item that is there. When
/// it throws, the core does not have it, except with `.sendingUnsure` and `.sendingUndecided`. The caller has made the staged CryptoFile
/// durable; the core owns it from the moment in which `send` returns, and until then leaves it where it is. What
/// becomes of the message (upload, delivery, failure) is told by the `snd…` events.
public protocol MessageSending: OpenProfile {
    var limits: ChatLimits { get }

    /// A message with a file of `size` bytes will follow in a moment: what takes time and does not need the
    /// file can begin. Returns at once, promises nothing.
    func expectToSend(_ size: UInt64)

    /// Sends one message with a file.
    /// - Throws: `.noSuchChat`, `.sendingRefused`, `.tooLarge`, `.file(.noRelay)`; `.file(.damaged)` for a staged file
    ///   that is not what the message says; `.sendingUnsure` when it cannot be known whether the core has it,
    ///   `.sendingUndecided` when it is not known yet.
    func send(_ message: ComposedMessage, to chat: ChatReference) async throws(ChatError) -> ChatItem

    /// Sends several, in their order, each as `send` does; one that is refused holds up none of the
    /// others. As many answers as messages.
    func send(
        _ messages: [ComposedMessage], to chat: ChatReference
    ) async -> [Result<ChatItem, ChatError>]

    /// The item that the message with this id became, which is to be taken back; nil when the core has none and will get
    /// none by an earlier `send`. Sends nothing.
    /// - Throws: as `send` of a message that was begun before: `.sendingUnsure` when that cannot be known,
    ///   `.sendingUndecided` when it is not known yet.
    func item(sentAs message: String, in chat: ChatReference) async throws(ChatError) -> ChatItem?

    /// Deletes items with their files: all of them or, when one of them cannot be, none. A transfer under way ends,
    /// and what it left on relays is deleted.
    /// - Throws: `.noSuchChat`, `.noSuchItem`, `.invalidCommand` for what `mode` does not permit.
    func deleteItems(
        _ items: [ItemID], in chat: ChatReference, mode: DeletionMode
    ) async throws(ChatError)
}

extension MessageSending {
    public func expectToSend(_ size: UInt64) {}

    /// For cores that do not say by which message an item was made.
    public func item(sentAs message: String, in chat: ChatReference) async throws(ChatError) -> ChatItem? {
        throw ChatError(.sendingUnsure, "It cannot be known whether the file was sent: look into the chat.")
    }

    public func send(
        _ messages: [ComposedMessage], to chat: ChatReference
    ) async -> [Result<ChatItem, ChatError>] {
        await sendOneByOne(messages, to: chat)
    }

    /// For cores that gain nothing by taking them together, or cannot this time.
    public func sendOneByOne(
        _ messages: [ComposedMessage], to chat: ChatReference
    ) async -> [Result<ChatItem, ChatError>] {
        var answers: [Result<ChatItem, ChatError>] = []
        for message in messages {
            do throws(ChatError) {
                answers.append(.success(try await send(message, to: chat)))
            } catch {
                answers.append(.failure(error))
            }
        }
        return answers
    }
}

/// Sizes that a core accepts, in bytes of plaintext.
public struct ChatLimits: Hashable, Sendable {
    /// Largest file in a contact's or group's chat. Notes have no limit.
    public var maxFileSize: UInt64
    /// Messages that this core takes at less cost together than one by one.
    public var maxSentTogether: Int

    public init(maxFileSize: UInt64, maxSentTogether: Int = 1) {
        self.maxFileSize = maxFileSize
        self.maxSentTogether = maxSentTogether
    }

    /// The largest file that a chat takes; nil where there is no limit.
    public func maxFileSize(in chat: ChatReference) -> UInt64? {
        switch chat {
        case .direct, .group: maxFileSize
        case .notes: nil
        case .links: FilePolicy.standaloneLimit
        }
    }
}
