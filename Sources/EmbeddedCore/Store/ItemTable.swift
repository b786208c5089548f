import Base
import ChatCore
import ChatProtocol
import CoreServices
import Store

/// A profile's messages with files.
///
/// Each `item` and `file` row belongs to one profile. A recipient's `origin` is the sender's item.
struct ItemTable {
    private let connection: Connection
    private let profile: Int64
    private let context: FileContext

    /// Values that items need besides their rows.
    struct FileContext {
        /// Folder of the profile's CryptoFiles.
        let filesPath: String
        /// Progress of running transfers.
        let progress: [FileID: TransferProgress]
    }

    init(_ connection: Connection, of profile: Int64, _ context: FileContext) {
        self.connection = connection
        self.profile = profile
        self.context = context
    }

    // MARK: - Reading

    private static let query = """
        SELECT i.id AS item, c.kind AS chat_kind, c.id AS chat, i.direction, i.sender, i.time,
            i.kind AS content_kind, i.preview, i.seconds, i.text,
            f.id AS file, f.name, f.size, f.status, f.transport, f.stored_name, f.key, f.nonce, f.content_offset, f.expires,
            f.problem, f.problem_sentence, i.is_delivered, i.is_for_moderators, i.is_deleted_by_sender,
            (f.description IS NOT NULL OR f.transport IN ('inline', 'smp')) AS is_described,
            CASE f.transport WHEN 'smp' THEN (SELECT received FROM inline_transfer WHERE file = f.id) END AS received
        FROM item i JOIN chat c ON c.id = i.chat JOIN file f ON f.item = i.id
        """

    /// Returns nil if the profile has no such item.
    func item(_ id: ItemID) throws -> ChatItem? {
        try connection.first(
            "\(Self.query) WHERE i.id = ? AND i.profile = ?", id.rawValue, profile, row: item)
    }

    /// Returns nil also for a standalone file.
    func item(of file: FileID) throws -> ChatItem? {
        try connection.first(
            "\(Self.query) WHERE f.id = ? AND f.profile = ?", file.rawValue, profile, row: item)
    }

    /// Returns up to `count` items older than `before`, newest first.
    func items(in chat: Int64, before: ItemID?, count: Int) throws -> [ChatItem] {
        try connection.query(
            "\(Self.query) WHERE i.chat = ? AND i.id < ? ORDER BY i.id DESC LIMIT ?",
            chat, before?.rawValue ?? .max, count, row: item)
    }

    /// Returns the item sent with this idempotency key.
    func item(sentAs message: String) throws -> ChatItem? {
        let id = try connection.first(
            "SELECT id FROM item WHERE profile = ? AND message_id = ?", profile, message
        ) { ItemID($0.integer("id")) }
        return try id.flatMap { try item($0) }
    }

    /// Number of items in all chats.
    func count() throws -> Int {
        try connection.first("SELECT count(*) AS count FROM item WHERE profile = ?", profile) {
            Int($0.integer("count"))
        } ?? 0
    }

    /// Items that match `Schema.isUnsettled`.
    func unsettled() throws -> [ChatItem] {
        try connection.query(
            """
            \(Self.query) WHERE i.id IN (SELECT item FROM file WHERE profile = ? AND \(Schema.isUnsettled))
            ORDER BY i.id
            """, profile, row: item)
    }

    /// Items that match `Schema.isLeaving`, in order of expiry on relays.
    func leaving(after position: ExpiryPosition, count: Int) throws -> [ChatItem] {
        try connection.query(
            """
            \(Self.query) WHERE f.id IN (SELECT id FROM file WHERE profile = ? AND \(Schema.isLeaving)
                AND (expires, item) > (?, ?) ORDER BY expires, item LIMIT ?)
            ORDER BY f.expires, f.item
            """, profile, position.time, position.item.rawValue, max(0, count), row: item)
    }

    func ids(in chat: Int64) throws -> [ItemID] {
        try connection.query("SELECT id FROM item WHERE chat = ?", chat) { ItemID($0.integer("id")) }
    }

    private func item(_ row: borrowing Row) throws -> ChatItem {
        let kind = try row.value("content_kind", as: StoredContentKind.self)
        return ChatItem(
            id: ItemID(row.integer("item")),
            chat: try row.value("chat_kind", as: StoredChatKind.self).reference(row.integer("chat")),
            direction: try row.value("direction"),
            sender: row.text("sender"), time: row.timestamp("time"),
            content: MessageContent(
                kind: kind.kind(preview: row.text("preview"), seconds: Int(row.integer("seconds"))),
                text: row.text("text")),
            file: try file(row), isForModerators: row.bool("is_for_moderators"),
            isDeletedBySender: row.bool("is_deleted_by_sender"))
    }

    private func file(_ row: borrowing Row) throws -> ChatFile {
        let id = FileID(row.integer("file"))
        let status = try row.value("status", as: StoredFileStatus.self)
        let size = row.unsigned("size")
        let source = row.textOrNil("stored_name").map { name in
            FileSourceLocation(
                path: context.filesPath + "/" + name,
                arguments: FileArguments(
                    key: row.bytes("key"), nonce: row.bytes("nonce"),
                    offset: row.integerOrNil("content_offset"), size: size))
        }
        let transfer = row.integerOrNil("received").flatMap {
            InlineTransfer(size: size, received: Int(clamping: $0))
        }
        let progress = context.progress[id] ?? TransferProgress(transfer)
        return ChatFile(
            id: id, name: row.text("name"), size: size,
            status: status.status(progress, try row.problem(), isDescribed: row.bool("is_described")),
            transport: try row.value("transport", as: ChatFile.Transport.self), source: source,
            expires: row.timestampOrNil("expires"), isDelivered: row.bool("is_delivered"))
    }

    /// Records a delivery receipt. Returns false if unchanged.
    func setDelivered(_ item: ItemID) throws -> Bool {
        try connection.execute(
            "UPDATE item SET is_delivered = 1 WHERE id = ? AND is_delivered = 0", item.rawValue) > 0
    }

    // MARK: - Deletion

    struct Deletable {
        var file: FileID
        var status: StoredFileStatus
        var storedName: String?
        var direction: ChatItem.Direction
        var created: Timestamp
    }

    /// Returns the columns needed to delete an item; nil if the chat has no such item.
    func deletable(_ item: ItemID, in chat: Int64) throws -> Deletable? {
        try connection.first(
            """
            SELECT f.id, f.status, f.stored_name, i.direction, i.created FROM item i
            JOIN file f ON f.item = i.id WHERE i.id = ? AND i.chat = ?
            """, item.rawValue, chat
        ) { row in
            Deletable(
                file: FileID(row.integer("id")), status: try row.value("status"),
                storedName: row.textOrNil("stored_name"),
                direction: try row.value("direction"),
                created: row.timestamp("created"))
        }
    }

    /// Deletes an item with its file, also another profile's.
    func delete(_ item: ItemID) throws {
        try connection.execute("DELETE FROM item WHERE id = ?", item.rawValue)
        try SharedMessageTable(connection: connection).prune(item)
    }

    /// Marks a kept item as deleted by its sender.
    func noteDeletedBySender(_ item: ItemID) throws {
        try connection.execute("UPDATE item SET is_deleted_by_sender = 1 WHERE id = ?", item.rawValue)
    }

    // MARK: - Disappearing

    /// SQL condition: neither the file nor its sender's original is being uploaded, and the network was told
    /// of it. Until then its time has not started.
    private static let isSent = """
        NOT EXISTS (SELECT 1 FROM file f WHERE f.item = coalesce(i.origin, i.id) AND f.transport = 'xftp' \
        AND (f.is_announced = 0 OR f.status IN (\(StoredFileStatus.list(StoredFileStatus.uploading)))))
        """

    /// Starts a sent message's time on all local sides. Returns false if it never expires.
    func startExpiry(of item: ItemID, at time: Timestamp) throws -> Bool {
        try connection.execute(
            """
            UPDATE item SET disappears = ? + disappears - created
            WHERE (id = ? OR origin = ?) AND disappears IS NOT NULL
            """, time, item.rawValue, item.rawValue) > 0
    }

    /// Returns up to `count` expired items, oldest first.
    func disappeared(at time: Timestamp, count: Int) throws -> [(item: ItemID, chat: ChatReference)] {
        try connection.query(
            """
            SELECT i.id, c.id AS chat, c.kind FROM item i JOIN chat c ON c.id = i.chat
            WHERE i.profile = ? AND i.disappears IS NOT NULL AND i.disappears <= ? AND \(Self.isSent)
            ORDER BY i.disappears LIMIT ?
            """, profile, time, count
        ) { row in
            let kind = try row.value("kind", as: StoredChatKind.self)
            return (ItemID(row.integer("id")), kind.reference(row.integer("chat")))
        }
    }

    /// Returns the next expiry; nil if no item expires.
    func nextExpiry() throws -> Timestamp? {
        try connection.first(
            """
            SELECT min(i.disappears) AS next FROM item i
            WHERE i.profile = ? AND i.disappears IS NOT NULL AND \(Self.isSent)
            """, profile
        ) { $0.timestampOrNil("next") } ?? nil
    }

    // MARK: - Inserting local messages

    /// Data shared by sender and recipients.
    struct Envelope {
        var message: ComposedMessage
        var transport: ChatFile.Transport
        var created: Timestamp
        var expires: Timestamp?
        /// Number of descriptions to create for an upload.
        var recipients: Int
        /// Expiry on all sides; nil for never.
        var disappears: Timestamp?
    }

    /// Inserts the sender's side and returns its item.
    func insertSent(_ envelope: Envelope, in chat: Int64, storedName: String) throws -> ItemID {
        let message = envelope.message
        let item = try insert(
            envelope, ChatSide(profile: profile, chat: chat), origin: nil, messageID: message.id, .sent,
            time: message.modified ?? envelope.created)
        let status: StoredFileStatus = envelope.transport == .inline ? .sndComplete : .sndStored
        try connection.execute(
            """
            INSERT INTO file (profile, item, name, size, transport, status, stored_name, key, nonce, content_offset,
                created, expires, recipients) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            profile, item.rawValue, message.fileName, message.size, envelope.transport.rawValue, status,
            storedName, message.source.arguments?.key, message.source.arguments?.nonce,
            message.source.arguments?.contentOffset, envelope.created, envelope.expires, envelope.recipients)
        return item
    }

    /// Inserts one recipient's side.
    /// - Parameters:
    ///   - number: index of its description in the upload, from 0.
    ///   - inlineContent: content of a small file, base64url.
    func insertReceived(
        _ envelope: Envelope, by recipient: ChatSide, origin: ItemID, number: Int, inlineContent: String?
    ) throws -> ItemID {
        let item = try insert(
            envelope, recipient, origin: origin, messageID: nil, .received, time: envelope.created)
        try connection.execute(
            """
            INSERT INTO file (profile, item, name, size, transport, status, created, expires,
                inline_content, recipient) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            recipient.profile, item.rawValue, envelope.message.fileName, envelope.message.size,
            envelope.transport.rawValue, StoredFileStatus.rcvInvitation, envelope.created, envelope.expires,
            inlineContent, number)
        return item
    }

    private func insert(
        _ envelope: Envelope, _ side: ChatSide, origin: ItemID?, messageID: String?,
        _ direction: ChatItem.Direction, time: Timestamp
    ) throws -> ItemID {
        let content = StoredContentKind.columns(of: envelope.message.content.kind)
        try connection.execute(
            """
            INSERT INTO item (profile, chat, origin, message_id, direction, sender, time, created,
                kind, preview, seconds, text, disappears)
            VALUES (?, ?, ?, ?, ?, (SELECT name FROM profile WHERE id = ?), ?, ?, ?, ?, ?, ?, ?)
            """,
            side.profile, side.chat, origin?.rawValue, messageID, direction, profile, time,
            envelope.created, content.kind, content.preview, content.seconds,
            envelope.message.content.text, envelope.disappears)
        return ItemID(connection.lastInsertedID)
    }

    // MARK: - Inserting network messages

    /// A received network message with a file.
    struct NetworkMessage {
        var sender: String
        /// Time claimed by the sender; only displayed.
        var time: Timestamp
        var content: MessageContent
        /// Start of the file's retention and retries.
        var created: Timestamp
        var fileName: String
        var size: UInt64
        var transport: ChatFile.Transport
        /// nil if the file is not on relays or cannot be downloaded.
        var expires: Timestamp?
        var problem: FileProblem?
        /// Expiry; nil for never.
        var disappears: Timestamp?
        /// Whether only a group's moderators and one member see it.
        var isForModerators = false
    }

    func insertReceived(_ message: NetworkMessage, in chat: Int64) throws -> ItemID {
        let content = StoredContentKind.columns(of: message.content.kind)
        try connection.execute(
            """
            INSERT INTO item (profile, chat, direction, sender, time, created, kind, preview, seconds, text,
                disappears, is_for_moderators) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, profile, chat, ChatItem.Direction.received, message.sender, message.time, message.created,
            content.kind, content.preview, content.seconds, message.content.text, message.disappears,
            message.isForModerators)
        let item = ItemID(connection.lastInsertedID)
        let status: StoredFileStatus = message.problem == nil ? .rcvInvitation : .rcvError
        try connection.execute(
            """
            INSERT INTO file (profile, item, name, size, transport, status, created, expires, problem,
                problem_sentence, recipient) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)
            """, profile, item.rawValue, message.fileName, message.size, message.transport.rawValue, status,
            message.created, message.expires, message.problem?.kind.rawValue,
            message.problem?.sentence)
        return item
    }

    func setContent(_ content: MessageContent, of item: ItemID) throws {
        let columns = StoredContentKind.columns(of: content.kind)
        try connection.execute(
            "UPDATE item SET kind = ?, preview = ?, seconds = ?, text = ? WHERE id = ?", columns.kind,
            columns.preview, columns.seconds, content.text, item.rawValue)
    }

    /// A recipient's side of a sent file.
    struct ReceivedCopy {
        var file: FileID
        /// Index of its description in the upload.
        var number: Int
        var item: ItemID
        var side: ChatSide
        var storedName: String?
    }

    /// Returns the recipients' sides of a sent file.
    func copies(of file: FileID) throws -> [ReceivedCopy] {
        try connection.query(
            """
            SELECT f.id AS file, f.recipient, i.id AS item, i.profile, i.chat, f.stored_name FROM item i
            JOIN file f ON f.item = i.id WHERE i.origin = (SELECT item FROM file WHERE id = ?)
            """, file.rawValue
        ) { row in
            ReceivedCopy(
                file: FileID(row.integer("file")), number: Int(row.integer("recipient")),
                item: ItemID(row.integer("item")),
                side: ChatSide(profile: row.integer("profile"), chat: row.integer("chat")),
                storedName: row.textOrNil("stored_name"))
        }
    }
}
