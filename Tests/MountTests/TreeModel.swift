/// The expected content of a mount's chats, derived from `docs/user/files.md` without our code.
struct TreeModel {
    enum Kind: Equatable {
        /// Sent once it is quiet, or kept until it is renamed.
        case draft
        /// Sent or received: immutable.
        case item
    }

    struct Entry: Equatable {
        var kind: Kind
        var bytes: [UInt8]
        /// st_ino: permanent.
        var number: UInt64
    }

    private(set) var chats: [String: [String: Entry]]
    /// Names of deleted messages by chat: not given to arrivals, but permitted for writers.
    private var deleted: [String: Set<String>] = [:]
    /// Sent contents by chat. All differ, so duplicates are detected.
    private(set) var sent: [String: [[UInt8]]] = [:]
    /// Files open at a kill, by name under `.chatfs/recovered`.
    private(set) var recovered: [String: [UInt8]] = [:]

    init(chats: [String]) { self.chats = Dictionary(uniqueKeysWithValues: chats.map { ($0, [:]) }) }

    func entry(_ chat: String, _ name: String) -> Entry? { chats[chat]?[name] }
    func names(_ chat: String) -> [String] { chats[chat, default: [:]].keys.sorted() }

    static func isTemporary(_ name: String) -> Bool { name.hasSuffix(".part") }

    /// Closed drafts that are sent at unmount.
    func outgoing(_ chat: String) -> [String] {
        names(chat).filter { entry(chat, $0)?.kind == .draft && !Self.isTemporary($0) }
    }

    /// The name of an arriving file.
    func free(_ name: String, in chat: String) -> String {
        let parts = name.split(separator: ".")
        let names = [name] + (2...99).map { "\(parts[0]) (\($0)).\(parts[1])" }
        return names.first { entry(chat, $0) == nil && deleted[chat]?.contains($0) != true } ?? name
    }

    // MARK: - Events

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

    /// A clean unmount, after which the next mount sends the rest.
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
