import Base
import ChatCore

/// The record of notified events across mounts, which prevents duplicates. A pure value.
///
/// For arrivals it stores each chat's highest item number, because numbers only grow; for texts, the notified offset of
/// each chat's log. Messages before the first mount are history.
public struct NotificationRecord: Hashable, Sendable {
    /// Time of the first mount with notifications.
    public let beginning: Timestamp
    /// Highest item number at that time.
    public let history: ItemID
    private(set) var arrivals: [ChatReference: ItemID] = [:]
    /// Words of other notified events, oldest first.
    private(set) var others: [String] = []
    /// Unseen arrivals.
    public private(set) var unread = UnreadMessages()
    /// Notified offset of each chat's log in bytes.
    public private(set) var logEnds: [ChatReference: UInt64] = [:]
    /// Known contacts. nil in the record of a version without texts and contacts.
    public private(set) var contacts: Set<ChatReference>?
    /// Boot id of a mount that has not ended.
    public private(set) var runningBoot: String?

    static let maxOthers = 1024
    static let maxContacts = 100_000
    /// Tolerated clock difference: a message older than the beginning by less may be new.
    private static let tolerance = Duration.seconds(600)

    public init(beginning: Timestamp, history: ItemID) {
        self.beginning = beginning
        self.history = history
    }

    /// Returns true if an arrived item may be new.
    public func isNews(_ item: ItemID, in chat: ChatReference, at time: Timestamp) -> Bool {
        item > (arrivals[chat] ?? history) && mayBeNews(at: time)
    }

    /// Returns false for a time before the first mount.
    func mayBeNews(at time: Timestamp) -> Bool { time >= beginning.advanced(by: .zero - Self.tolerance) }

    mutating func noteArrival(_ item: ItemID, in chat: ChatReference) {
        arrivals[chat] = max(arrivals[chat] ?? item, item)
    }

    func wasTold(_ word: String) -> Bool { others.contains(word) }

    mutating func note(_ word: String) {
        guard !others.contains(word) else { return }
        others.append(word)
        if others.count > Self.maxOthers { others.removeFirst(others.count - Self.maxOthers) }
    }

    /// Removes a word; returns true if it was there.
    @discardableResult
    mutating func forget(_ word: String) -> Bool {
        guard let index = others.firstIndex(of: word) else { return false }
        others.remove(at: index)
        return true
    }

    mutating func noteUnread(_ item: ItemID, in chat: ChatReference) { unread.add(item, in: chat) }

    mutating func noteUnread(_ text: TextReference) { unread.add(text) }

    /// Returns true if the item or the text was unread.
    mutating func noteRead(_ entry: NotifiedEntry) -> Bool {
        switch entry {
        case .item(let id): unread.remove(id)
        case .text(let text): unread.remove(text)
        case .draft, .request, .contact: false
        }
    }

    /// Returns true if the chat had unread arrivals.
    mutating func noteSeen(_ chat: ChatReference) -> Bool { unread.removeAll(in: chat) }

    mutating func noteTextsRead(in chat: ChatReference) -> Bool { unread.removeTexts(in: chat) }

    // MARK: - Texts, contacts and the process

    /// Returns true if a line that ends at this offset was not notified.
    func isNews(logEnd: UInt64, in chat: ChatReference) -> Bool { logEnd > logEnds[chat] ?? 0 }

    mutating func noteLog(_ end: UInt64, of chat: ChatReference) {
        logEnds[chat] = max(logEnds[chat] ?? 0, end)
    }

    /// Marks existing texts and contacts as known. Called by the first mount that supports them.
    public mutating func begin(logEnds: [ChatReference: UInt64], contacts: Set<ChatReference>) {
        guard self.contacts == nil else { return }
        self.logEnds = logEnds
        self.contacts = contacts
    }

    /// Returns true if the contact was unknown.
    mutating func noteContact(_ chat: ChatReference) -> Bool {
        guard (contacts?.count ?? 0) < Self.maxContacts else { return false }
        return contacts?.insert(chat).inserted ?? false
    }

    /// Records the begin of a mount.
    /// - Returns: True if an earlier mount of this boot did not end.
    public mutating func beginProcess(in boot: String) -> Bool {
        defer { runningBoot = boot }
        return runningBoot == boot
    }

    mutating func endProcess() { runningBoot = nil }
}

extension NotificationRecord {
    private static let head = "chatfs notifications 1"

    /// The stored text: lines of a word and its values.
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

    /// Parses the text; returns nil if it is invalid or truncated within its head.
    public init?(_ text: String) {
        // By bytes, because a carriage return and the newline after it are one character.
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
            case "unread", "text", "texts": unread.read(words.map(String.init))
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
