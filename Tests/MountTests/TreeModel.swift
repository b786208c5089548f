/// What the chats of a mount should show after everything that was done: worked out from `docs/semantics.md`, by
/// nothing of ours.
struct TreeModel {
    enum Kind: Equatable {
        /// Of a name that is sent once nobody has used it for a while, or that stays until it is renamed.
        case draft
        /// Sent or received: it changes no more.
        case item
    }

    struct Entry: Equatable {
        var kind: Kind
        var bytes: [UInt8]
        /// st_ino: stays, whatever becomes of the entry.
        var number: UInt64
    }

    private(set) var chats: [String: [String: Entry]]
    /// Names of deleted messages by chat: not given to what arrives, but a writer may choose them.
    private var deleted: [String: Set<String>] = [:]
    /// Contents that went out, by chat. All differ, so that one that comes twice is seen.
    private(set) var sent: [String: [[UInt8]]] = [:]
    /// What nobody closed before a kill, by the names under `.chatfs/recovered`.
    private(set) var recovered: [String: [UInt8]] = [:]

    init(chats: [String]) { self.chats = Dictionary(uniqueKeysWithValues: chats.map { ($0, [:]) }) }

    func entry(_ chat: String, _ name: String) -> Entry? { chats[chat]?[name] }
    func names(_ chat: String) -> [String] { chats[chat, default: [:]].keys.sorted() }

    static func isTemporary(_ name: String) -> Bool { name.hasSuffix(".part") }

    /// Closed drafts that go out when the mount ends.
    func outgoing(_ chat: String) -> [String] {
        names(chat).filter { entry(chat, $0)?.kind == .draft && !Self.isTemporary($0) }
    }

    /// The name of a file that arrives.
    func free(_ name: String, in chat: String) -> String {
        let parts = name.split(separator: ".")
        let names = [name] + (2...99).map { "\(parts[0]) (\($0)).\(parts[1])" }
        return names.first { entry(chat, $0) == nil && deleted[chat]?.contains($0) != true } ?? name
    }

    // MARK: - What happens

    mutating func wrote(_ bytes: [UInt8], to name: String, in chat: String, number: UInt64) {
        chats[chat]?[name] = Entry(kind: .draft, bytes: bytes, number: number)
    }

    mutating func renamed(_ old: String, to new: String, in chat: String) {
        guard old != new, let entry = chats[chat]?.removeValue(forKey: old) else { return }
        chats[chat]?[new] = entry
    }

    mutating func removed(_ name: String, in chat: String) {
        if chats[chat]?.removeValue(forKey: name)?.kind == .item { deleted[chat, default: []].insert(name) }
    }

    mutating func arrived(_ bytes: [UInt8], as name: String, in chat: String, number: UInt64) {
        chats[chat]?[name] = Entry(kind: .item, bytes: bytes, number: number)
    }

    /// The mount ended in good order, and the next one sent what was left.
    mutating func sentAll() {
        for chat in chats.keys.sorted() {
            for name in outgoing(chat) {
                chats[chat]?[name]?.kind = .item
                if let bytes = entry(chat, name)?.bytes { sent[chat, default: []].append(bytes) }
            }
        }
    }

    mutating func leftOpen(_ bytes: [UInt8], as name: String) { recovered[name] = bytes }
}
