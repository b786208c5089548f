/// Messages by chat and number. The cost of a page depends only on its length.
public struct ScriptedHistory: Sendable {
    private var chats: [String: [ScriptedMessage]] = [:]
    private var chatOfMessage: [Int64: String] = [:]
    /// Messages without a file.
    private var texts: [String: Set<Int64>] = [:]
    /// The number of changes.
    private(set) var changes = 0

    public init() {}

    public var count: Int { chatOfMessage.count }

    public mutating func append(_ message: ScriptedMessage) {
        changes += 1
        let position = position(of: message.id, in: message.chat)
        chats[message.chat, default: []].insert(message, at: position)
        chatOfMessage[message.id] = message.chat
        noteWhetherText(message)
    }

    public mutating func append(_ messages: some Sequence<ScriptedMessage>) {
        for message in messages { append(message) }
    }

    @discardableResult
    public mutating func remove(_ id: Int64) -> ScriptedMessage? {
        guard let chat = chatOfMessage.removeValue(forKey: id) else { return nil }
        changes += 1
        let position = position(of: id, in: chat)
        texts[chat]?.remove(id)
        return chats[chat]?.remove(at: position)
    }

    private mutating func noteWhetherText(_ message: ScriptedMessage) {
        if message.text == nil {
            texts[message.chat]?.remove(message.id)
        } else {
            texts[message.chat, default: []].insert(message.id)
        }
    }

    public subscript(id: Int64) -> ScriptedMessage? {
        chatOfMessage[id].flatMap { chat in chats[chat]?[position(of: id, in: chat)] }
    }

    /// Changes a message. Returns it, or nil if its number is unknown.
    @discardableResult
    public mutating func change(
        _ id: Int64, _ body: (inout ScriptedMessage) -> Void
    ) -> ScriptedMessage? {
        guard let chat = chatOfMessage[id] else { return nil }
        changes += 1
        let position = position(of: id, in: chat)
        body(&chats[chat, default: []][position])
        let changed = chats[chat]?[position]
        if let changed { noteWhetherText(changed) }
        return changed
    }

    /// The messages of a chat or group scope, oldest first.
    public func messages(of chat: String) -> [ScriptedMessage] { chats[chat] ?? [] }

    public var all: [ScriptedMessage] { chats.values.flatMap { $0 } }
    public var newest: Int64 { chats.values.lazy.compactMap(\.last?.id).max() ?? 0 }

    func newest(of chat: String) -> Int64 { chats[chat]?.last?.id ?? 0 }

    /// The number of messages with a file from `id` on for each chat, with scopes counted in their groups.
    func counts(from id: Int64) -> [String: Int] {
        var counts: [String: Int] = [:]
        for (chat, messages) in chats {
            let withoutFile = texts[chat]?.count { $0 >= id } ?? 0
            counts[String(chat.prefix { $0 != "(" }), default: 0] +=
                messages.count - position(of: id, in: chat) - withoutFile
        }
        return counts
    }

    /// Group scopes.
    var parts: [String] { chats.keys.filter { $0.contains("(") }.sorted() }

    /// The index of the first message from `id` on.
    func position(of id: Int64, in chat: String) -> Int {
        guard let messages = chats[chat] else { return 0 }
        var (low, high) = (0, messages.count)
        while low < high {
            let middle = (low + high) / 2
            if messages[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
