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
    }

    struct Item: Hashable, Sendable {
        var id: ItemID
        var chat: ChatReference
    }

    let key: Key
    /// When the first of it happened.
    let since: Instant
    /// The latest of them, as many as buttons act on and texts name.
    private(set) var files: [NotifiedFile] = []
    /// All that are items, as many as are remembered.
    private(set) var items: [Item] = []
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
        expires: Timestamp? = nil
    ) {
        guard !files.contains(where: { $0.entry == file.entry }) else { return }
        combine(relays, sharesRelays: true, why, mayRetry, expires)
        count += 1
        append(file)
        if case .item(let id) = file.entry { append([Item(id: id, chat: file.chat)]) }
    }

    /// Takes in what another one tells of.
    mutating func add(_ other: NotificationGroup) {
        guard other.count > 0 else { return }
        combine(other.relays, sharesRelays: other.sharesRelays, other.why, other.mayRetry, other.expires)
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
        items += more.prefix(max(0, ToldNotifications.maxUnread - items.count))
    }

    /// False when nothing is left to tell.
    mutating func remove(_ entry: NotifiedEntry) -> Bool {
        // Of many only the latest are among the files.
        let file = files.firstIndex { $0.entry == entry }
        let item = items.firstIndex { .item($0.id) == entry }
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
        rest.files.removeAll { chats.contains($0.chat) }
        rest.count -= items.count - rest.items.count
        return rest.files.isEmpty ? nil : rest
    }

    /// The chats of which it tells.
    var chats: Set<ChatReference> { Set(items.map(\.chat) + [key.chat].compactMap(\.self)) }

    /// What its button does; nil for none.
    /// - Parameter namesRelays: whether the text says what would be approved.
    func action(namesRelays: Bool) -> NotificationAction? {
        switch key.subject {
        case .arrival, .keys: nil
        case .refusal: namesRelays ? key.refusal?.server.map { .approve([$0]) } : nil
        case .approval:
            namesRelays && sharesRelays && 1...Self.maxRelays ~= relays.count ? .approve(relays) : nil
        case .failure: mayRetry ? .retry(files.map(\.entry)) : nil
        case .expiry: .keep(files.map(\.entry))
        case .hold: .send(files.map(\.entry))
        }
    }

    /// What its second button does; nil for none.
    var secondAction: NotificationAction? {
        key.subject == .hold ? .discard(files.map(\.entry)) : nil
    }
}
