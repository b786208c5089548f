import Base
import ChatCore

/// What one notification tells of: files of one chat and one subject. More of them become part of it for as long as it
/// is on show.
struct NotificationGroup: Hashable, Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Which one it is.
    struct Key: Hashable, Sendable {
        /// Nil: of several chats, or of none.
        var chat: ChatReference?
        var subject: NotificationSubject
        /// Which refusal, or warning.
        var refusal: RefusedRequest?
        /// Whose request: each has its own buttons.
        var request: Int64?
    }

    /// What counts as unread until somebody has seen it.
    struct Item: Hashable, Sendable {
        var entry: NotifiedEntry
        var chat: ChatReference
    }

    let key: Key
    /// When the first of it happened.
    let since: Instant
    /// The latest of them, as many as buttons act on and notifications name.
    private(set) var files: [NotifiedFile] = []
    /// All that are items or texts, as many as are remembered.
    private(set) var items: [Item] = []
    /// How far the logs of chats were told, in bytes.
    private(set) var logEnds: [ChatReference: UInt64] = [:]
    private(set) var count = 0
    private(set) var relays: [String] = []
    /// Whether all wait for the same relays.
    private(set) var sharesRelays = true
    /// Empty when there are several reasons.
    private(set) var why = ""
    private(set) var mayRetry = true
    /// The first to go.
    private(set) var expires: Timestamp?

    static let maxFiles = 64
    /// Relays that one button approves.
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
        case .item, .text: append(file.chat.map { [Item(entry: file.entry, chat: $0)] } ?? [])
        case .draft, .request, .contact: break
        }
    }

    /// Takes in what another one tells of.
    mutating func add(_ other: NotificationGroup) {
        guard other.count > 0 else { return }
        combine(other.relays, sharesRelays: other.sharesRelays, other.why, other.mayRetry, other.expires)
        logEnds.merge(other.logEnds) { max($0, $1) }
        let known = Set(files.map(\.entry))
        count += other.count
        for file in other.files {
            if known.contains(file.entry) { count -= 1 } else { append(file) }
        }
        append(other.items)
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

    /// False when nothing is left to tell.
    mutating func remove(_ entry: NotifiedEntry) -> Bool {
        // Of many only the latest are among the files.
        let file = files.firstIndex { $0.entry == entry }
        let item = items.firstIndex { $0.entry == entry }
        guard file != nil || item != nil else { return true }
        if let file { files.remove(at: file) }
        if let item { items.remove(at: item) }
        count -= 1
        return count > 0
    }

    /// Without what belongs to some chats; nil when nothing is left.
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

    /// Nothing is left of what is told again because something of it has gone.
    var tellsSomething: Bool { count > 0 || key.refusal != nil }

    /// The chats of which it tells.
    var chats: Set<ChatReference> { Set(items.map(\.chat) + [key.chat].compactMap(\.self)) }
}
