import ChatCore

/// The unseen arrivals: files until opened and texts until read, each until it is deleted. A pure value.
public struct UnreadMessages: Hashable, Sendable {
    /// The file of a message.
    struct File: Hashable, Sendable {
        var id: ItemID
        /// nil in the record of an older version.
        var chat: ChatReference?
    }

    /// The texts of a chat.
    struct Texts: Hashable, Sendable {
        /// Their words (`TextReference.word`), which a deletion names.
        var words: Set<String> = []
        /// Number of texts in the record of an older version, and of those above the limit.
        var unnamed = 0

        var count: Int { words.count + unnamed }
    }

    /// Oldest first.
    private(set) var files: [File] = []
    private(set) var texts: [ChatReference: Texts] = [:]
    private var ids: Set<ItemID> = []
    /// Number of words of all texts.
    private var namedTexts = 0

    static let maxFiles = 9999
    /// Of one chat, and of the words in all chats.
    static let maxTexts = 9999
    private static let maxWordLength = 64

    public init() {}

    public var count: Int { files.count + texts.values.reduce(0) { $0 + $1.count } }
    public var isEmpty: Bool { files.isEmpty && texts.isEmpty }

    /// Unread arrivals of each chat with any.
    public var byChat: [ChatReference: Int] {
        files.reduce(into: texts.mapValues(\.count)) { counts, file in
            if let chat = file.chat { counts[chat, default: 0] += 1 }
        }
    }

    /// Unread files with their chats.
    public var filesInChats: [(item: ItemID, chat: ChatReference)] {
        files.compactMap { file in file.chat.map { (item: file.id, chat: $0) } }
    }

    /// Words (`TextReference.word`) of unread texts of each chat with any.
    public var textWords: [ChatReference: Set<String>] {
        texts.mapValues(\.words).filter { !$0.value.isEmpty }
    }

    func holds(_ chat: ChatReference) -> Bool {
        texts[chat] != nil || files.contains { $0.chat == chat }
    }

    mutating func add(_ item: ItemID, in chat: ChatReference?) {
        guard files.count < Self.maxFiles, ids.insert(item).inserted else { return }
        files.append(File(id: item, chat: chat))
    }

    mutating func add(_ text: TextReference) { add(text: text.word, in: text.chat) }

    private mutating func add(text word: String, in chat: ChatReference) {
        guard (texts[chat]?.count ?? 0) < Self.maxTexts, texts[chat]?.words.contains(word) != true else {
            return
        }
        guard namedTexts < Self.maxTexts, Self.isWord(word) else { return addTexts(1, in: chat) }
        texts[chat, default: Texts()].words.insert(word)
        namedTexts += 1
    }

    /// Adds texts without words.
    private mutating func addTexts(_ count: Int, in chat: ChatReference) {
        let added = min(count, Self.maxTexts - (texts[chat]?.count ?? 0))
        if added > 0 { texts[chat, default: Texts()].unnamed += added }
    }

    /// Returns true if the record can hold the word.
    private static func isWord(_ word: String) -> Bool {
        1...maxWordLength ~= word.utf8.count && word.utf8.allSatisfy { 0x21...0x7E ~= $0 }
    }

    /// Returns true if the item was unread.
    mutating func remove(_ item: ItemID) -> Bool {
        guard ids.remove(item) != nil, let index = files.firstIndex(where: { $0.id == item }) else {
            return false
        }
        files.remove(at: index)
        return true
    }

    /// Returns true if the text was unread.
    mutating func remove(_ text: TextReference) -> Bool {
        guard texts[text.chat]?.words.remove(text.word) != nil else { return false }
        namedTexts -= 1
        if texts[text.chat]?.count == 0 { texts[text.chat] = nil }
        return true
    }

    /// Returns true if there were unread texts.
    mutating func removeTexts(in chat: ChatReference) -> Bool {
        guard let known = texts.removeValue(forKey: chat) else { return false }
        namedTexts -= known.words.count
        return true
    }

    /// Returns true if there were unread arrivals.
    mutating func removeAll(in chat: ChatReference) -> Bool {
        guard holds(chat) else { return false }
        files.removeAll { $0.chat == chat }
        ids = Set(files.map(\.id))
        _ = removeTexts(in: chat)
        return true
    }
}

extension UnreadMessages {
    /// The lines of the record.
    var lines: [String] {
        files.map { "unread \($0.id.rawValue)" + ($0.chat.map { " \($0)" } ?? "") }
            + texts.flatMap { Self.lines(of: $0.key, $0.value) }.sorted()
    }

    private static func lines(of chat: ChatReference, _ texts: Texts) -> [String] {
        var lines = texts.words.map { "text \(chat) \($0)" }
        if texts.unnamed > 0 { lines.append("texts \(chat) \(texts.unnamed)") }
        return lines
    }

    /// Parses one line; ignores other lines.
    mutating func read(_ words: [String]) {
        if words.first == "unread", let id = words.dropFirst().first.flatMap({ Int64($0) }) {
            add(ItemID(id), in: words.count == 3 ? ChatReference(words[2]) : nil)
        } else if words.count == 3, let chat = ChatReference(words[1]) {
            if words[0] == "text" { add(text: words[2], in: chat) }
            if words[0] == "texts", let count = Int(words[2]) { addTexts(count, in: chat) }
        }
    }
}
