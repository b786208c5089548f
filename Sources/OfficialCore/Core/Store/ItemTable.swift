import Base
import ChatCore
import CoreServices
import Store

/// Messages with a file in the index.
struct ItemTable {
    let connection: Connection

    // MARK: - Reading

    private static let query = """
        SELECT id, chat, direction, sender, time, kind, seconds, text, file, name, size, transport, status, part, \
        total, problem, sentence, described, path, sealed, preview, reference, deleted FROM item
        """

    func item(_ id: ItemID) throws -> ChatItem? {
        try connection.first("\(Self.query) WHERE id = ?", id.rawValue, row: item) ?? nil
    }

    func item(of file: FileID) throws -> ChatItem? {
        try connection.first("\(Self.query) WHERE file = ? ORDER BY id", file.rawValue, row: item) ?? nil
    }

    /// Returns up to `count` items older than `before`, newest first.
    func items(of chat: ChatReference, before: ItemID?, count: Int) throws -> [ChatItem] {
        try connection.query(
            "\(Self.query) WHERE chat = ? AND id < ? ORDER BY id DESC LIMIT ?",
            chat.description, before?.rawValue ?? .max, max(0, count)
        ) { try item($0, of: chat) }
    }

    /// Returns true if the chat has items.
    func holds(_ chat: ChatReference) throws -> Bool {
        try connection.exists("SELECT 1 FROM item WHERE chat = ?", chat.description)
    }

    /// Over all chats.
    func count() throws -> Int {
        try connection.first("SELECT count(*) AS count FROM item") { Int($0.integer("count")) } ?? 0
    }

    /// Items with `Schema.isUnsettled`.
    func unsettled() throws -> [ChatItem] {
        try connection.query("\(Self.query) WHERE \(Schema.isUnsettled) ORDER BY id", row: item)
            .compactMap(\.self)
    }

    /// Items with `Schema.isLeaving`, in the order in which relays delete their files.
    func leaving(after position: ExpiryPosition, count: Int) throws -> [ChatItem] {
        let sent = position.time.advanced(by: .zero - FilePolicy.relayRetention)
        return try connection.query(
            "\(Self.query) WHERE \(Schema.isLeaving) AND (time, id) > (?, ?) ORDER BY time, id LIMIT ?",
            sent, position.item.rawValue, max(0, count), row: item
        ).compactMap(\.self)
    }

    /// Those of which `Schema.isElsewhere` holds, newest first, older than `before`.
    func elsewhere(before: ItemID?, count: Int) throws -> [ChatItem] {
        try connection.query(
            "\(Self.query) WHERE \(Schema.isElsewhere) AND id < ? ORDER BY id DESC LIMIT ?",
            before?.rawValue ?? .max, max(0, count), row: item
        ).compactMap(\.self)
    }

    func ids(of chat: ChatReference) throws -> [ItemID] {
        try connection.query("SELECT id FROM item WHERE chat = ?", chat.description) {
            ItemID($0.integer("id"))
        }
    }

    /// Returns the part of a chat that holds the item, in the notation of commands.
    func reference(of id: ItemID) throws -> String? {
        try connection.first("SELECT reference FROM item WHERE id = ?", id.rawValue) { $0.text("reference") }
    }

    private func item(_ row: borrowing Row) throws -> ChatItem? {
        guard let chat = ChatReference(row.text("chat")) else { return nil }
        return try item(row, of: chat)
    }

    private func item(_ row: borrowing Row, of chat: ChatReference) throws -> ChatItem {
        let kind = try row.value("kind", as: StoredContentKind.self)
        // Keys are not in the index; `location(of:)` asks the core for them.
        let stored = row.textOrNil("path")
        let isElsewhere = stored == Place.elsewhere.path
        let path = row.bool("sealed") || isElsewhere ? nil : stored
        let transport = try row.value("transport", as: ChatFile.Transport.self)
        var file = ChatFile(
            id: FileID(row.integer("file")), name: row.text("name"), size: row.unsigned("size"),
            status: try StoredFileStatus(row).status(isDescribed: row.bool("described")),
            transport: transport, source: path.map { FileSourceLocation(path: $0, arguments: nil) },
            expires: ChatFile.expiry(transport, of: row.timestamp("time")))
        if isElsewhere, file.status.isReadable {
            // The file no longer depends on a relay.
            (file.isElsewhere, file.expires) = (true, nil)
        }
        return ChatItem(
            id: ItemID(row.integer("id")), chat: chat,
            direction: try row.value("direction"),
            sender: row.text("sender"), time: row.timestamp("time"),
            content: MessageContent(
                // Previews stay in the core, because 100,000 of them would fill the memory.
                kind: kind.kind(preview: "", seconds: Int(row.integer("seconds"))), text: row.text("text")),
            file: file, hasPreview: row.bool("preview"),
            // For a part of a group, the reference is longer than the group's.
            isForModerators: row.text("reference") != row.text("chat"),
            isDeletedBySender: row.bool("deleted"))
    }

    // MARK: - Writing

    /// Writes an item. A file that was once described stays so.
    func put(_ item: ChatItem, _ file: ChatFile, reference: String, isRead: Bool = false) throws {
        let content = StoredContentKind.columns(of: item.content.kind)
        let status = StoredFileStatus(file.status)
        let source = file.isElsewhere ? Place.elsewhere : file.source
        try connection.execute(
            """
            INSERT INTO item (id, chat, reference, seen, direction, sender, time, kind, seconds, text,
                file, name, size, transport, status, part, total, problem, sentence, described, path, sealed,
                read, preview, deleted)
            VALUES (?, ?, ?, coalesce((SELECT number FROM walk WHERE reference = ?), 0),
                ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET
                seen = excluded.seen, sender = excluded.sender, time = excluded.time, kind = excluded.kind,
                seconds = excluded.seconds, text = excluded.text, file = excluded.file,
                name = excluded.name, size = excluded.size, transport = excluded.transport,
                status = excluded.status, part = excluded.part, total = excluded.total,
                problem = excluded.problem, sentence = excluded.sentence,
                described = max(described, excluded.described), path = excluded.path,
                sealed = excluded.sealed, read = max(read, excluded.read),
                preview = excluded.preview, deleted = excluded.deleted
            """,
            item.id.rawValue, item.chat.description, reference, reference,
            item.direction, item.sender, item.time, content.kind, content.seconds,
            item.content.text, file.id.rawValue, file.name, file.size, file.transport.rawValue,
            status.word, status.part, status.total, status.problem?.kind.rawValue, status.problem?.sentence,
            file.status == .rcvInvitation(described: true), source?.path, source?.arguments != nil, isRead,
            item.hasPreview, item.isDeletedBySender)
    }

    /// The location of a file, and whether it has a key, which only the core knows.
    struct Place {
        var path: String?
        var isSealed: Bool

        /// On another machine only.
        static let elsewhere = FileSourceLocation(path: "", arguments: FileArguments(key: [], nonce: []))
    }

    func place(of id: ItemID) throws -> Place? {
        try connection.first("SELECT path, sealed FROM item WHERE id = ?", id.rawValue) { row in
            Place(path: row.textOrNil("path"), isSealed: row.bool("sealed"))
        }
    }

    func setPlace(_ place: Place, of id: ItemID) throws {
        try connection.execute(
            "UPDATE item SET path = ?, sealed = ? WHERE id = ?", place.path, place.isSealed, id.rawValue)
    }

    func remove(_ id: ItemID) throws {
        try connection.execute("DELETE FROM item WHERE id = ?", id.rawValue)
    }

    // MARK: - Read and disappearing messages

    /// Returns the part that holds a received, unread item; nil for others.
    func unreadReference(of id: ItemID) throws -> String? {
        try connection.first(
            "SELECT reference FROM item WHERE id = ? AND direction = ? AND read = 0", id.rawValue,
            ChatItem.Direction.received
        ) { $0.text("reference") }
    }

    func noteRead(_ id: ItemID) throws {
        try connection.execute("UPDATE item SET read = 1 WHERE id = ?", id.rawValue)
    }

    func noteThatItDisappears(_ id: ItemID) throws {
        try connection.execute("UPDATE item SET disappears = 1 WHERE id = ?", id.rawValue)
    }

    /// Returns true for a disappearing message.
    func disappears(_ id: ItemID) throws -> Bool {
        try connection.first("SELECT disappears FROM item WHERE id = ?", id.rawValue) {
            $0.bool("disappears")
        } ?? false
    }

    // MARK: - Transfers

    /// Newest items with a running transfer, with their parts.
    func moving(limit: Int) throws -> [(id: ItemID, reference: String)] {
        try connection.query(
            "SELECT id, reference FROM item WHERE \(Schema.isMoving) ORDER BY id DESC LIMIT ?", limit
        ) { (ItemID($0.integer("id")), $0.text("reference")) }
    }

    /// Newest items whose file may have a new state: in transfer, failed temporarily, or not received and sent after
    /// `time`; with the scope of each.
    func changing(since time: Timestamp, limit: Int) throws -> [(id: ItemID, reference: String)] {
        try connection.query(
            """
            SELECT id, reference FROM item WHERE id IN (
                SELECT id FROM item WHERE \(Schema.isUnsettled)
                UNION SELECT id FROM item WHERE \(Schema.isLeaving) AND time > ?)
            ORDER BY id DESC LIMIT ?
            """, time, limit
        ) { (ItemID($0.integer("id")), $0.text("reference")) }
    }

    /// Newest files in upload to relays.
    func uploading(limit: Int) throws -> [FileID] {
        try connection.query(
            """
            SELECT file FROM item
            WHERE \(Schema.isMoving) AND direction = 'sent' AND transport = 'xftp'
            ORDER BY id DESC LIMIT ?
            """, limit
        ) { FileID($0.integer("file")) }
    }

    func files(_ status: StoredFileStatus.Word) throws -> [FileID] {
        try connection.query("SELECT file FROM item WHERE status = ?", status) {
            FileID($0.integer("file"))
        }
    }

    /// Leaves it to the core whether a description has arrived.
    func takeAllForDescribed() throws {
        try connection.execute("UPDATE item SET described = 1 WHERE described = 0")
    }

    // MARK: - Comparison

    /// Returns the oldest of the newest `count` items, or 0 if there are fewer.
    func oldest(ofNewest count: Int) throws -> Int64 {
        try connection.first("SELECT id FROM item ORDER BY id DESC LIMIT 1 OFFSET ?", count) {
            $0.integer("id")
        } ?? 0
    }

    /// Items of a part that are newer than `id`.
    func ids(in reference: String, after id: Int64) throws -> [ItemID] {
        try connection.query("SELECT id FROM item WHERE reference = ? AND id > ?", reference, id) {
            ItemID($0.integer("id"))
        }
    }

    /// Items of a part, up to the start of a walk, that the walk did not find.
    func ids(in reference: String, notMetBy walk: Int64, upTo start: Int64) throws -> [ItemID] {
        try connection.query(
            "SELECT id FROM item WHERE reference = ? AND seen < ? AND id <= ?", reference, walk, start
        ) { ItemID($0.integer("id")) }
    }
}
