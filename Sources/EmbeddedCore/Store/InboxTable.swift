import ChatCore
import Store

/// What one profile's process has to learn from another process. Written in the transaction of the
/// change itself, deleted in the one in which the receiving process has acted on it.
enum InboxEntry: Equatable {
    case newItem(ItemID)
    /// The description of a file has arrived.
    case described(ItemID)
    /// The sender cancelled a file.
    case cancelled(ItemID)
    /// A file that came within messages cannot be had any more.
    case failed(ItemID)
    /// A file is not sent any more: nobody will hear of it.
    case unsent(ItemID)
    /// The sender deleted an item for everyone; `storedName` is the CryptoFile it leaves behind.
    case deleted(ItemID, storedName: String?)
    case chatUpdated
    case messageLogGrew
}

/// What waits for the processes of profiles (table `news`: the name is on disks, another one would need a migration).
struct InboxTable {
    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    private enum Kind: String, SQLBindable, CaseIterable {
        case newItem = "new"
        case described
        case cancelled
        case failed
        case unsent
        case deleted
        case chatUpdated = "chat"
        case messageLogGrew = "log"
    }

    /// - Parameter side: who is told, and of which of its chats.
    func post(_ entry: InboxEntry, to side: ChatSide) throws {
        let (kind, item, storedName): (Kind, ItemID?, String?) =
            switch entry {
            case .newItem(let item): (.newItem, item, nil)
            case .described(let item): (.described, item, nil)
            case .cancelled(let item): (.cancelled, item, nil)
            case .failed(let item): (.failed, item, nil)
            case .unsent(let item): (.unsent, item, nil)
            case .deleted(let item, let storedName): (.deleted, item, storedName)
            case .chatUpdated: (.chatUpdated, nil, nil)
            case .messageLogGrew: (.messageLogGrew, nil, nil)
            }
        try connection.execute(
            "INSERT INTO news (profile, kind, chat, item, stored_name) VALUES (?, ?, ?, ?, ?)",
            side.profile, kind, side.chat, item?.rawValue, storedName)
    }

    struct Waiting {
        var id: Int64
        var chat: Int64
        var entry: InboxEntry
    }

    /// The oldest entries for a profile, up to `limit`.
    func waiting(for profile: Int64, limit: Int) throws -> [Waiting] {
        try connection.query(
            "SELECT id, kind, chat, item, stored_name FROM news WHERE profile = ? ORDER BY id LIMIT ?",
            profile, limit
        ) { row in
            let item = ItemID(row.integer("item"))
            let entry: InboxEntry =
                switch try row.value("kind", as: Kind.self) {
                case .newItem: .newItem(item)
                case .described: .described(item)
                case .cancelled: .cancelled(item)
                case .failed: .failed(item)
                case .unsent: .unsent(item)
                case .deleted: .deleted(item, storedName: row.textOrNil("stored_name"))
                case .chatUpdated: .chatUpdated
                case .messageLogGrew: .messageLogGrew
                }
            return Waiting(id: row.integer("id"), chat: row.integer("chat"), entry: entry)
        }
    }

    func remove(_ id: Int64) throws {
        try connection.execute("DELETE FROM news WHERE id = ?", id)
    }

    func removeAll(for profile: Int64) throws {
        try connection.execute("DELETE FROM news WHERE profile = ?", profile)
    }

    /// Whether the message of a file is still to be told.
    func announces(_ file: FileID) throws -> Bool {
        try connection.exists(
            "SELECT 1 FROM news WHERE kind = ? AND item = (SELECT item FROM file WHERE id = ?)", Kind.newItem,
            file.rawValue)
    }
}
