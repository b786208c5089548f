/// Sends messages with files, and deletes messages.
///
/// A message is sent exactly once per `ComposedMessage.id`, across repetitions and crashes. When `send`
/// returns, the core has stored it, and the same id returns the existing item. When it throws, the core does
/// not have it, except with `.sendingUnsure` and `.sendingUndecided`.
///
/// The caller makes the staged CryptoFile durable. The core owns it once `send` returns, and does not move it
/// before. `snd…` events report the upload, delivery or failure.
public protocol MessageSending: OpenProfile {
    var limits: ChatLimits { get }

    /// Announces a message with a file of `size` bytes, so that connections can be opened. Returns at once;
    /// the message may never come.
    func expectToSend(_ size: UInt64)

    /// Returns the form in which to stage a long file for a chat; nil for a CryptoFile of the content alone.
    /// - Parameter name: The file's name so far, which may be temporary and is not disclosed.
    func streamForm(for chat: ChatReference, name: String) -> StreamForm?

    /// Sends a message with a file.
    /// - Throws: `.noSuchChat`, `.sendingRefused`, `.tooLarge`, `.file(.noRelay)`; `.file(.damaged)` if the
    ///   staged file does not match the message; `.sendingUnsure` if it cannot be known whether the core has
    ///   it, `.sendingUndecided` if it is not known yet.
    func send(_ message: ComposedMessage, to chat: ChatReference) async throws(ChatError) -> ChatItem

    /// Sends messages in order, each like `send`. A rejected one does not affect the others. Returns one
    /// result per message.
    func send(
        _ messages: [ComposedMessage], to chat: ChatReference
    ) async -> [Result<ChatItem, ChatError>]

    /// Returns the item sent with this id; nil if the core has none and an earlier `send` cannot create one.
    /// Sends nothing.
    /// - Throws: `.sendingUnsure` if that cannot be known, `.sendingUndecided` if it is not known yet; the
    ///   other errors of `send`.
    func item(sentAs message: String, in chat: ChatReference) async throws(ChatError) -> ChatItem?

    /// Deletes items with their files, all or none. Stops transfers and deletes their chunks on relays.
    /// - Throws: `.noSuchChat`, `.noSuchItem`, `.invalidCommand` if `mode` does not permit it.
    func deleteItems(
        _ items: [ItemID], in chat: ChatReference, mode: DeletionMode
    ) async throws(ChatError)
}

extension MessageSending {
    public func expectToSend(_ size: UInt64) {}
    public func streamForm(for chat: ChatReference, name: String) -> StreamForm? { nil }

    /// For cores that do not record the id of an item's message.
    public func item(sentAs message: String, in chat: ChatReference) async throws(ChatError) -> ChatItem? {
        throw ChatError(.sendingUnsure, "It cannot be known whether the file was sent: look into the chat.")
    }

    public func send(
        _ messages: [ComposedMessage], to chat: ChatReference
    ) async -> [Result<ChatItem, ChatError>] {
        await sendOneByOne(messages, to: chat)
    }

    /// For cores without, or unable to use, batches.
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

/// Size limits of a core, in plaintext bytes.
public struct ChatLimits: Hashable, Sendable {
    /// Largest file in a contact's or group's chat. Notes have no limit.
    public var maxFileSize: UInt64
    /// Largest useful batch.
    public var maxSentTogether: Int

    public init(maxFileSize: UInt64, maxSentTogether: Int = 1) {
        self.maxFileSize = maxFileSize
        self.maxSentTogether = maxSentTogether
    }

    /// Returns a chat's largest file; nil without limit.
    public func maxFileSize(in chat: ChatReference) -> UInt64? {
        switch chat {
        case .direct, .group: maxFileSize
        case .notes: nil
        case .links: FilePolicy.standaloneLimit
        }
    }
}
