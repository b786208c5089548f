import Base
import ChatCore

/// The content of one notification: files of one chat and one subject. Later files join it while it is displayed.
struct NotificationGroup: Hashable, Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Identifies a group.
    struct Key: Hashable, Sendable {
        /// nil for several chats, or none.
        var chat: ChatReference?
        var subject: NotificationSubject
        /// The refusal or warning.
        var refusal: RefusedRequest?
        /// The request; each request has its own buttons.
        var request: Int64?
    }

    /// The entry of a file or a text. An arrival counts as unread until seen.
    struct Item: Hashable, Sendable {
        var entry: NotifiedEntry
        var chat: ChatReference
    }

    let key: Key
    /// Time of the first event.
    let since: Instant
    /// The latest files, of which texts name some.
    private(set) var files: [NotifiedFile] = []
    /// All files and texts up to the limit.
    private(set) var items: [Item] = []
    /// Notified offset of each chat's log in bytes.
    private(set) var logEnds: [ChatReference: UInt64] = [:]
    private(set) var count = 0
    private(set) var relays: [String] = []
    /// True if all files wait for the same relays.
    private(set) var sharesRelays = true
    /// Empty if there are several reasons.
    private(set) var why = ""
    private(set) var mayRetry = true
    /// The earliest expiry.
    private(set) var expires: Timestamp?

    static let maxFiles = 64
    /// Maximum number of relays that one button approves.
    static let maxRelays = 4

    init(_ key: Key, since: Instant) {
        self.key = key
        self.since = since
    }

    mutating func add(
        _ file: NotifiedFile, relays: [String] = [], why: String = "", mayRetry: Bool = true,
        expires: Timestamp? = nil, logEnd: UInt64? = nil
    ) {
        if let chat = file.chat, let logEnd { logEnds[chat] = max(logEnds[chat] ?? 0, logEnd) }
        guard !files.contains(where: { $0.entry == file.entry }) else { return }
        combine(relays, sharesRelays: true, why, mayRetry, expires)
        count += 1
        append(file)
        switch file.entry {
        case .item, .text, .draft: append(file.chat.map { [Item(entry: file.entry, chat: $0)] } ?? [])
        case .request, .contact: break
        }
    }

    /// Merges another group.
    mutating func add(_ other: NotificationGroup) {
        guard other.count > 0 else { return }
        combine(other.relays, sharesRelays: other.sharesRelays, other.why, other.mayRetry, other.expires)
        logEnds.merge(other.logEnds) { max($0, $1) }
        let known = Set(files.map(\.entry))
        count += other.count
        for file in other.files {
            if known.contains(file.entry) { count -= 1 } else { append(file) }
        }
        let present = Set(items)
        append(other.items.filter { !present.contains($0) })
    }

    private mutating func combine(
        _ relays: [String], sharesRelays: Bool, _ why: String, _ mayRetry: Bool, _ expires: Timestamp?
    ) {
        if count == 0 {
            (self.relays, self.sharesRelays, self.why) = (relays, sharesRelays, why)
        } else {
            if !sharesRelays || Set(relays) != Set(self.relays) { self.sharesRelays = false }
            if self.why != why { self.why = "" }
        }
        self.mayRetry = self.mayRetry && mayRetry
        if let expires { self.expires = min(self.expires ?? expires, expires) }
    }

    private mutating func append(_ file: NotifiedFile) {
        files.append(file)
        if files.count > Self.maxFiles { files.removeFirst() }
    }

    private mutating func append(_ more: [Item]) {
        items += more.prefix(max(0, UnreadMessages.maxFiles - items.count))
    }

    /// Removes an entry. Returns false if the group is empty then.
    mutating func remove(_ entry: NotifiedEntry) -> Bool {
        // A large group keeps only the latest files.
        let file = files.firstIndex { $0.entry == entry }
        let item = items.firstIndex { $0.entry == entry }
        guard file != nil || item != nil else { return true }
        if let file { files.remove(at: file) }
        if let item { items.remove(at: item) }
        count -= 1
        return count > 0
    }

    /// Returns the group without the entries of some chats; nil if it is empty then.
    func without(_ chats: Set<ChatReference>) -> NotificationGroup? {
        guard key.refusal == nil, !chats.isEmpty, items.contains(where: { chats.contains($0.chat) }) else {
            return self
        }
        var rest = self
        rest.items.removeAll { chats.contains($0.chat) }
        rest.files.removeAll { $0.chat.map(chats.contains) == true }
        rest.count -= items.count - rest.items.count
        return rest.files.isEmpty ? nil : rest
    }

    /// The entries that buttons act on.
    var entries: [NotifiedEntry] { items.map(\.entry) }

    /// False if the group became empty.
    var tellsSomething: Bool { count > 0 || key.refusal != nil }

    /// The chats of the group's entries.
    var chats: Set<ChatReference> { Set(items.map(\.chat) + [key.chat].compactMap(\.self)) }
}
