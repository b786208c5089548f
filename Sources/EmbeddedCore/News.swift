import Store

/// What one profile's process has to learn from another process. Written in the transaction of the
/// change itself, deleted in the one in which the receiving process has acted on it.
enum News: Equatable {
    case newItem(Int64, chat: Int64)
    /// The description of a file has arrived.
    case described(item: Int64, chat: Int64)
    /// The sender cancelled a file.
    case cancelled(item: Int64, chat: Int64)
    /// The sender deleted an item for everyone; `storedName` is the CryptoFile it leaves behind.
    case deleted(item: Int64, chat: Int64, storedName: String?)
    case chatUpdated(Int64)

    func post(to profile: Int64, _ connection: Connection) throws {
        let (kind, chat, item, storedName): (String, Int64, Int64?, String?) =
            switch self {
            case .newItem(let item, let chat): ("new", chat, item, nil)
            case .described(let item, let chat): ("described", chat, item, nil)
            case .cancelled(let item, let chat): ("cancelled", chat, item, nil)
            case .deleted(let item, let chat, let storedName): ("deleted", chat, item, storedName)
            case .chatUpdated(let chat): ("chat", chat, nil, nil)
            }
        try connection.execute(
            "INSERT INTO news (profile, kind, chat, item, stored_name) VALUES (?, ?, ?, ?, ?)",
            profile, kind, chat, item, storedName)
    }

    /// The oldest news for a profile, up to `limit`.
    static func waiting(
        for profile: Int64, limit: Int, _ connection: Connection
    ) throws -> [(id: Int64, news: News)] {
        try connection.query(
            "SELECT id, kind, chat, item, stored_name FROM news WHERE profile = ? ORDER BY id LIMIT ?",
            profile, limit
        ) { row in
            let (chat, item) = (row.integer(2), row.integer(3))
            let news: News =
                switch row.text(1) {
                case "new": .newItem(item, chat: chat)
                case "described": .described(item: item, chat: chat)
                case "cancelled": .cancelled(item: item, chat: chat)
                case "deleted": .deleted(item: item, chat: chat, storedName: row.textOrNil(4))
                default: .chatUpdated(chat)
                }
            return (row.integer(0), news)
        }
    }
}
