import ChatCore

/// The unseen arrivals: files one by one until opened, and the number of texts in each chat. A pure value.
public struct UnreadMessages: Hashable, Sendable {
    /// The file of a message.
    struct File: Hashable, Sendable {
        var id: ItemID
        /// nil in the record of an older version.
        var chat: ChatReference?
    }

    /// Oldest first.
    private(set) var files: [File] = []
    private(set) var texts: [ChatReference: Int] = [:]
    private var ids: Set<ItemID> = []

    static let maxFiles = 9999
    static let maxTexts = 9999

    public init() {}

    public var count: Int { files.count + texts.values.reduce(0, +) }
    public var isEmpty: Bool { files.isEmpty && texts.isEmpty }

    /// Unread arrivals of each chat with any.
    public var byChat: [ChatReference: Int] {
        files.reduce(into: texts) { counts, file in if let chat = file.chat { counts[chat, default: 0] += 1 }
        }
    }

    func holds(_ chat: ChatReference) -> Bool {
        texts[chat] != nil || files.contains { $0.chat == chat }
    }

    mutating func add(_ item: ItemID, in chat: ChatReference?) {
        guard files.count < Self.maxFiles, ids.insert(item).inserted else { return }
        files.append(File(id: item, chat: chat))
    }

    mutating func addTexts(_ count: Int, in chat: ChatReference) {
        guard count > 0 else { return }
        texts[chat] = min(Self.maxTexts, (texts[chat] ?? 0) + count)
    }

    /// Returns true if the item was unread.
    mutating func remove(_ item: ItemID) -> Bool {
        guard ids.remove(item) != nil, let index = files.firstIndex(where: { $0.id == item }) else {
            return false
        }
        files.remove(at: index)
        return true
    }

    /// Returns true if there were unread texts.
    mutating func removeTexts(in chat: ChatReference) -> Bool { texts.removeValue(forKey: chat) != nil }

    /// Returns true if there were unread arrivals.
    mutating func removeAll(in chat: ChatReference) -> Bool {
        guard holds(chat) else { return false }
        files.removeAll { $0.chat == chat }
        ids = Set(files.map(\.id))
        texts[chat] = nil
        return true
    }
}

extension UnreadMessages {
    /// The lines of the record.
    var lines: [String] {
        files.map { "unread \($0.id.rawValue)" + ($0.chat.map { " \($0)" } ?? "") }
            + texts.map { "texts \($0.key) \($0.value)" }.sorted()
    }

    /// Parses one line; ignores other lines.
    mutating func read(_ words: [String]) {
        if words.first == "unread", let id = words.dropFirst().first.flatMap({ Int64($0) }) {
            add(ItemID(id), in: words.count == 3 ? ChatReference(words[2]) : nil)
        } else if words.first == "texts", words.count == 3, let chat = ChatReference(words[1]),
            let count = Int(words[2])
        {
            addTexts(count, in: chat)
        }
    }
}
