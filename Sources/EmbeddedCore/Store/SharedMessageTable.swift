import Base
import ChatCore
import ChatProtocol
import Store

/// Shared ids of network messages, and the data needed to process later events about them.
struct SharedMessageTable {
    let connection: Connection

    /// Stored word for an author.
    static func word(_ author: Author) -> String {
        switch author {
        case .own: own
        case .contact: "contact"
        case .member(let id): "member:\(id.text)"
        }
    }

    private static let own = "own"

    static func author(_ word: String) -> Author? {
        switch word {
        case own: .own
        case "contact": .contact
        default:
            word.hasPrefix("member:") ? MemberID(text: String(word.dropFirst(7))).map { .member($0) } : nil
        }
    }

    private enum StoredState: String, SQLBindable, CaseIterable {
        case present, changed, deleted

        init(_ state: MessageRecord.State) {
            switch state {
            case .present: self = .present
            case .onlyChanged: self = .changed
            case .deleted: self = .deleted
            }
        }

        var state: MessageRecord.State {
            switch self {
            case .present: .present
            case .changed: .onlyChanged
            case .deleted: .deleted
            }
        }
    }

    // MARK: - Reading

    func record(of key: MessageKey, in chat: Int64) throws -> MessageRecord? {
        try connection.first(
            "SELECT time, state, has_file FROM shared_message WHERE \(Self.isMeant)", chat,
            Self.word(key.author), key.id.bytes
        ) { row -> MessageRecord? in
            try row.valueOrNil("state", as: StoredState.self).map {
                MessageRecord(time: row.timestamp("time"), state: $0.state, hasFile: row.bool("has_file"))
            }
        } ?? nil
    }

    private static let isMeant = "chat = ? AND author = ? AND shared_id = ?"

    func isSeen(_ key: MessageKey, in chat: Int64) throws -> Bool {
        try connection.exists(
            "SELECT 1 FROM shared_message WHERE \(Self.isMeant) AND is_seen = 1", chat,
            Self.word(key.author), key.id.bytes)
    }

    func description(of key: MessageKey, in chat: Int64) throws -> PartialDescription? {
        let found = try connection.first(
            "SELECT description_length, parts, is_described FROM shared_message WHERE \(Self.isMeant)", chat,
            Self.word(key.author), key.id.bytes
        ) { row in
            PartialDescription(
                length: Int(row.integer("description_length")), count: Int(row.integer("parts")),
                isComplete: row.bool("is_described"), first: nil)
        }
        guard let found, found.count > 0 else { return nil }
        guard found.count == 1, !found.isComplete else { return found }
        return PartialDescription(
            length: found.length, count: 1, isComplete: false, first: try descriptionText(of: key, in: chat))
    }

    func descriptionText(of key: MessageKey, in chat: Int64) throws -> String {
        try connection.query(
            "SELECT text FROM description_part WHERE \(Self.isMeant) ORDER BY number", chat,
            Self.word(key.author), key.id.bytes
        ) { $0.text("text") }
        .joined()
    }

    /// Number of descriptions that wait for their message.
    /// - Parameter author: nil for all authors.
    func waitingDescriptions(by author: Author?, in chat: Int64) throws -> Int {
        // Without the hint, SQLite would scan the chat by its primary key.
        let waiting = """
            SELECT count(*) AS count FROM shared_message INDEXED BY shared_message_waiting
            WHERE \(Schema.isWaiting) AND chat = ?
            """
        guard let author else { return try connection.first(waiting, chat, row: Self.count) ?? 0 }
        return try connection.first(waiting + " AND author = ?", chat, Self.word(author), row: Self.count)
            ?? 0
    }

    private static func count(_ row: borrowing Row) -> Int { Int(row.integer("count")) }

    func item(_ key: MessageKey, in chat: Int64) throws -> ItemID? {
        try connection.first(
            "SELECT item FROM shared_message WHERE \(Self.isMeant)", chat, Self.word(key.author),
            key.id.bytes
        ) { $0.integerOrNil("item").map { ItemID($0) } } ?? nil
    }

    /// Returns an own item's shared id and chat.
    func sent(_ item: ItemID) throws -> (id: SharedMessageID, chat: Int64)? {
        let found = try connection.first(
            "SELECT shared_id, chat FROM shared_message WHERE item = ? AND author = ?", item.rawValue,
            Self.own
        ) { row in
            SharedMessageID(bytes: row.bytes("shared_id")).map { ($0, row.integer("chat")) }
        }
        return found ?? nil
    }

    /// Returns a received item's author, shared id and chat.
    func received(_ item: ItemID) throws -> (key: MessageKey, chat: Int64)? {
        let found = try connection.first(
            "SELECT chat, author, shared_id FROM shared_message WHERE item = ? AND author != ?",
            item.rawValue,
            Self.own
        ) { row -> (MessageKey, Int64)? in
            guard let author = Self.author(row.text("author")),
                let id = SharedMessageID(bytes: row.bytes("shared_id"))
            else { return nil }
            return (MessageKey(id, by: author), row.integer("chat"))
        }
        return found ?? nil
    }

    /// Returns the keys of a group member's messages with items.
    func keys(by member: MemberID, in chat: Int64) throws -> [MessageKey] {
        try connection.query(
            """
            SELECT shared_id FROM shared_message INDEXED BY shared_message_shown
            WHERE chat = ? AND author = ? AND item IS NOT NULL
            """, chat, Self.word(.member(member))
        ) { SharedMessageID(bytes: $0.bytes("shared_id")).map { MessageKey($0, by: .member(member)) } }
        .compactMap { $0 }
    }

    // MARK: - Changes

    private func insert(_ key: MessageKey, in chat: Int64) throws {
        try connection.execute(
            "INSERT OR IGNORE INTO shared_message (chat, author, shared_id) VALUES (?, ?, ?)", chat,
            Self.word(key.author), key.id.bytes)
    }

    func keep(_ record: MessageRecord, of key: MessageKey, in chat: Int64, item: ItemID?) throws {
        try insert(key, in: chat)
        try connection.execute(
            """
            UPDATE shared_message SET time = ?, state = ?, has_file = ?, item = ? WHERE \(Self.isMeant)
            """, record.time, StoredState(record.state), record.hasFile, item?.rawValue, chat,
            Self.word(key.author), key.id.bytes)
        // A message without a file needs no description.
        if record.state == .present, !record.hasFile { try forgetDescription(of: key, in: chat) }
    }

    private func forgetDescription(of key: MessageKey, in chat: Int64) throws {
        try connection.execute(
            """
            UPDATE shared_message SET description_length = 0, parts = 0, is_described = 0 WHERE \(Self.isMeant)
            """, chat, Self.word(key.author), key.id.bytes)
        try removeParts(of: key.id, by: Self.word(key.author), in: chat)
    }

    private func removeParts(of id: SharedMessageID, by author: String, in chat: Int64) throws {
        try connection.execute(
            "DELETE FROM description_part WHERE \(Self.isMeant)", chat, author, id.bytes)
    }

    /// Deletes a message and its description, but keeps its key as deleted.
    func forget(_ key: MessageKey, in chat: Int64, at time: Timestamp) throws {
        try keep(MessageRecord(time: time, state: .deleted, hasFile: false), of: key, in: chat, item: nil)
        try forgetDescription(of: key, in: chat)
    }

    /// Marks an expired text as deleted, if known. Later events about it are ignored.
    /// - Parameter author: stored word for the author; nil for all, in lines of earlier releases.
    func forget(_ id: SharedMessageID, by author: String?, in chat: Int64) throws {
        for author in try author.map({ [$0] }) ?? authors(of: id, in: chat) {
            let count = try connection.execute(
                """
                UPDATE shared_message SET state = ?, has_file = 0, description_length = 0, parts = 0,
                    is_described = 0 WHERE \(Self.isMeant) AND item IS NULL
                """, StoredState.deleted, chat, author, id.bytes)
            if count > 0 { try removeParts(of: id, by: author, in: chat) }
        }
    }

    /// Scans the whole chat.
    private func authors(of id: SharedMessageID, in chat: Int64) throws -> [String] {
        try connection.query(
            "SELECT author FROM shared_message WHERE chat = ? AND shared_id = ?", chat, id.bytes
        ) { $0.text("author") }
    }

    /// Stores another part and the description's new state.
    func keep(
        _ description: PartialDescription, after part: DescriptionPart, of key: MessageKey, in chat: Int64
    ) throws {
        try insert(key, in: chat)
        if part.number == 1 { try removeParts(of: key.id, by: Self.word(key.author), in: chat) }
        try connection.execute(
            "INSERT INTO description_part (chat, author, shared_id, number, text) VALUES (?, ?, ?, ?, ?)",
            chat,
            Self.word(key.author), key.id.bytes, part.number, part.text)
        try connection.execute(
            """
            UPDATE shared_message SET description_length = ?, parts = ?, is_described = ? WHERE \(Self.isMeant)
            """, description.length, description.count, description.isComplete, chat,
            Self.word(key.author), key.id.bytes)
    }

    func noteSeen(_ key: MessageKey, in chat: Int64) throws {
        try insert(key, in: chat)
        try connection.execute(
            "UPDATE shared_message SET is_seen = 1 WHERE \(Self.isMeant)", chat, Self.word(key.author),
            key.id.bytes)
    }

    /// Removes a deleted item. Keeps received messages as deleted, so that later events are ignored.
    func prune(_ item: ItemID) throws {
        try connection.execute(
            """
            DELETE FROM description_part WHERE (chat, author, shared_id) IN
                (SELECT chat, author, shared_id FROM shared_message WHERE item = ?)
            """, item.rawValue)
        try connection.execute(
            "DELETE FROM shared_message WHERE item = ? AND author = ?", item.rawValue, Self.own)
        try connection.execute(
            """
            UPDATE shared_message SET item = NULL, state = ?, has_file = 0, description_length = 0, parts = 0,
                is_described = 0 WHERE item = ?
            """, StoredState.deleted, item.rawValue)
    }
}
