import Base
import ChatCore

/// What users were told of, over mounts: kept so that nobody is told twice. A value without input and output.
///
/// Of what arrived the highest number in each chat: numbers of items only grow. Of texts how far the log of each chat
/// was told. What was there before the first mount is history.
public struct ToldNotifications: Hashable, Sendable {
    /// When there was nothing to tell yet: the first mount with notifications.
    public let beginning: Timestamp
    /// The highest number of an item at that moment.
    public let history: ItemID
    private(set) var arrivals: [ChatReference: ItemID] = [:]
    /// What else was told, in short words, oldest first.
    private(set) var others: [String] = []
    /// What arrived and nobody has seen.
    public private(set) var unread = UnreadMessages()
    /// How far the logs of chats were told, in bytes.
    public private(set) var logEnds: [ChatReference: UInt64] = [:]
    /// Contacts that are no news. Nil: kept by a version that told of no texts and no contacts.
    public private(set) var contacts: Set<ChatReference>?
    /// The boot of the machine in which a mount began that has not ended.
    public private(set) var runningBoot: String?

    static let maxOthers = 1024
    static let maxContacts = 100_000
    /// The clocks of two machines differ: a message that came this long before the beginning may have been sent after.
    private static let tolerance = Duration.seconds(600)

    public init(beginning: Timestamp, history: ItemID) {
        self.beginning = beginning
        self.history = history
    }

    /// Whether an item that arrived may be news.
    public func isNews(_ item: ItemID, in chat: ChatReference, at time: Timestamp) -> Bool {
        item > (arrivals[chat] ?? history) && time >= beginning.advanced(by: .zero - Self.tolerance)
    }

    mutating func noteArrival(_ item: ItemID, in chat: ChatReference) {
        arrivals[chat] = max(arrivals[chat] ?? item, item)
    }

    func wasTold(_ word: String) -> Bool { others.contains(word) }

    mutating func note(_ word: String) {
        guard !others.contains(word) else { return }
        others.append(word)
        if others.count > Self.maxOthers { others.removeFirst(others.count - Self.maxOthers) }
    }

    /// Whether it was there.
    @discardableResult
    mutating func forget(_ word: String) -> Bool {
        guard let index = others.firstIndex(of: word) else { return false }
        others.remove(at: index)
        return true
    }

    mutating func noteUnread(_ item: ItemID, in chat: ChatReference) { unread.add(item, in: chat) }

    mutating func noteUnreadTexts(_ count: Int, in chat: ChatReference) { unread.addTexts(count, in: chat) }

    /// Whether it was among what is unread.
    mutating func noteRead(_ item: ItemID) -> Bool { unread.remove(item) }

    /// Whether something of the chat was unread.
    mutating func noteSeen(_ chat: ChatReference) -> Bool { unread.removeAll(in: chat) }

    mutating func noteTextsRead(in chat: ChatReference) -> Bool { unread.removeTexts(in: chat) }

    // MARK: - Texts, contacts and the process

    /// Whether a line of a chat's log that ends there was not told.
    func isNews(logEnd: UInt64, in chat: ChatReference) -> Bool { logEnd > logEnds[chat] ?? 0 }

    mutating func noteLog(_ end: UInt64, of chat: ChatReference) {
        logEnds[chat] = max(logEnds[chat] ?? 0, end)
    }

    /// What is there now is no news: to be called by the first mount that tells of texts and contacts.
    public mutating func begin(logEnds: [ChatReference: UInt64], contacts: Set<ChatReference>) {
        guard self.contacts == nil else { return }
        self.logEnds = logEnds
        self.contacts = contacts
    }

    /// Whether it was not known.
    mutating func noteContact(_ chat: ChatReference) -> Bool {
        guard (contacts?.count ?? 0) < Self.maxContacts else { return false }
        return contacts?.insert(chat).inserted ?? false
    }

    /// A mount begins.
    /// - Returns: whether another one has not ended since the machine was started.
    public mutating func beginProcess(in boot: String) -> Bool {
        defer { runningBoot = boot }
        return runningBoot == boot
    }

    mutating func endProcess() { runningBoot = nil }
}

extension ToldNotifications {
    private static let head = "chatfs notifications 1"

    /// Lines of a word and what belongs to it.
    public var text: String {
        var lines = [Self.head, "beginning \(beginning.nanoseconds)", "history \(history.rawValue)"]
        lines += arrivals.map { "arrived \($0.key) \($0.value.rawValue)" }.sorted()
        lines += others.map { "told \($0)" }
        lines += unread.lines
        lines += logEnds.map { "log \($0.key) \($0.value)" }.sorted()
        if let contacts { lines += ["contacts"] + contacts.map { "contact \($0)" }.sorted() }
        if let runningBoot { lines.append("running \(runningBoot)") }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Reads it back; nil for what is no such text, or was cut off within its head.
    public init?(_ text: String) {
        // By bytes: a carriage return and what follows it are one character.
        let lines = text.utf8.split(separator: UInt8(ascii: "\n")).map { Substring($0) }
        guard lines.count >= 3, lines[0] == Self.head,
            let beginning = Self.number("beginning", lines[1]),
            let history = Self.number("history", lines[2])
        else { return nil }
        self.init(beginning: Timestamp(nanoseconds: beginning), history: ItemID(history))
        var told: Set<String> = []
        for line in lines.dropFirst(3) {
            let words = line.split(separator: " ", maxSplits: 2)
            if words == ["contacts"], contacts == nil { contacts = [] }
            guard words.count >= 2 else { continue }
            switch words[0] {
            case "arrived":
                guard words.count == 3, let chat = ChatReference(words[1]), let id = Int64(words[2]) else {
                    continue
                }
                noteArrival(ItemID(id), in: chat)
            case "told":
                if words.count == 2, others.count < Self.maxOthers, told.insert(String(words[1])).inserted {
                    others.append(String(words[1]))
                }
            case "unread", "texts": unread.read(words.map(String.init))
            case "log":
                guard words.count == 3, let chat = ChatReference(words[1]), let end = UInt64(words[2]) else {
                    continue
                }
                noteLog(end, of: chat)
            case "contact":
                guard words.count == 2, let chat = ChatReference(words[1]) else { continue }
                contacts = (contacts ?? []).union([chat])
            case "running": if words.count == 2 { runningBoot = String(words[1]) }
            default: break
            }
        }
    }

    private static func number(_ word: String, _ line: Substring) -> Int64? {
        let words = line.split(separator: " ")
        return words.count == 2 && words[0] == word ? Int64(words[1]) : nil
    }
}
