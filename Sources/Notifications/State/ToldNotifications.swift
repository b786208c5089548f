import Base
import ChatCore

/// What users were told of, over mounts: kept so that nobody is told twice. A value without input and output.
///
/// Of what arrived the highest number in each chat: numbers of items only grow. What was there before the first mount
/// is history.
public struct ToldNotifications: Hashable, Sendable {
    /// When there was nothing to tell yet: the first mount with notifications.
    public let beginning: Timestamp
    /// The highest number of an item at that moment.
    public let history: ItemID
    private(set) var arrivals: [ChatReference: ItemID] = [:]
    /// What else was told, in short words, oldest first.
    private(set) var others: [String] = []
    /// What arrived and nobody has opened, oldest first.
    public private(set) var unread: [ItemID] = []

    static let maxOthers = 1024
    static let maxUnread = 9999
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

    mutating func noteUnread(_ item: ItemID) {
        if !unread.contains(item), unread.count < Self.maxUnread { unread.append(item) }
    }

    /// Whether it was among them.
    mutating func noteRead(_ item: ItemID) -> Bool {
        guard let index = unread.firstIndex(of: item) else { return false }
        unread.remove(at: index)
        return true
    }
}

extension ToldNotifications {
    private static let head = "chatfs notifications 1"

    /// Lines of a word and what belongs to it.
    public var text: String {
        var lines = [Self.head, "beginning \(beginning.nanoseconds)", "history \(history.rawValue)"]
        lines += arrivals.map { "arrived \($0.key) \($0.value.rawValue)" }.sorted()
        lines += others.map { "told \($0)" }
        lines += unread.map { "unread \($0.rawValue)" }
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
        var (told, unopened): (Set<String>, Set<ItemID>) = ([], [])
        for line in lines.dropFirst(3) {
            let words = line.split(separator: " ", maxSplits: 2)
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
            case "unread":
                if words.count == 2, let id = Int64(words[1]), unread.count < Self.maxUnread,
                    unopened.insert(ItemID(id)).inserted
                {
                    unread.append(ItemID(id))
                }
            default: break
            }
        }
    }

    private static func number(_ word: String, _ line: Substring) -> Int64? {
        let words = line.split(separator: " ")
        return words.count == 2 && words[0] == word ? Int64(words[1]) : nil
    }
}
