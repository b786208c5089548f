import ChatCore
import Store

/// An event for another profile's process. Written in the transaction of the change, and deleted in the one
/// that processes it.
enum InboxEntry: Equatable {
    case newItem(ItemID)
    /// A file's description arrived.
    case described(ItemID)
    /// The sender cancelled a file.
    case cancelled(ItemID)
    /// An inline file has failed.
    case failed(ItemID)
    /// A sent file's upload was stopped before its announcement.
    case unsent(ItemID)
    /// The sender deleted an item for everyone. `storedName` is the CryptoFile to remove.
    case deleted(ItemID, storedName: String?)
    case chatUpdated
    case messageLogGrew
}

/// Pending events for profiles. The table name `news` is an on-disk format.
struct InboxTable {
    let connection: Connection

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

    /// - Parameter side: recipient and its chat.
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

    /// Returns a profile's oldest entries, up to `limit`.
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

    /// Whether the message of a file is still to be announced.
    func announces(_ file: FileID) throws -> Bool {
        try connection.exists(
            "SELECT 1 FROM news WHERE kind = ? AND item = (SELECT item FROM file WHERE id = ?)", Kind.newItem,
            file.rawValue)
    }
}
