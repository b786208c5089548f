import Base
import ChatCore
import ChatProtocol
import Store

/// Inline files of network messages, stored chunk by chunk until complete.
struct InlineTransferTable {
    let connection: Connection
    let profile: Int64

    // MARK: - Reading

    private static let transfers = """
        FROM inline_transfer t JOIN file f ON f.id = t.file JOIN shared_message m ON m.item = f.item
        """

    /// The same join, starting from the few transfers: an author may have any number of messages.
    private static let fewTransfers = """
        FROM inline_transfer t CROSS JOIN file f ON f.id = t.file CROSS JOIN shared_message m ON m.item = f.item
        """

    /// Returns nil if chunks of this file are not accepted.
    func transfer(of key: MessageKey, in chat: Int64) throws -> InlineTransfer? {
        try connection.first(
            """
            SELECT f.size, t.received \(Self.transfers)
            WHERE m.chat = ? AND m.author = ? AND m.shared_id = ?
            """, chat, SharedMessageTable.word(key.author), key.id.bytes, row: InlineTransfer.init)
            ?? nil
    }

    /// Returns a file's transfer.
    func transfer(of file: FileID) throws -> InlineTransfer? {
        try connection.first(
            "SELECT f.size, t.received FROM inline_transfer t JOIN file f ON f.id = t.file WHERE f.id = ?",
            file.rawValue, row: InlineTransfer.init) ?? nil
    }

    /// Returns an author's unrequested transfers, oldest first.
    func unasked(by author: Author, in chat: Int64) throws -> [MessageKey] {
        try connection.query(
            """
            SELECT m.shared_id \(Self.fewTransfers) WHERE m.chat = ? AND m.author = ? AND t.is_asked = 0
            ORDER BY f.id
            """, chat, SharedMessageTable.word(author)
        ) { row in SharedMessageID(bytes: row.bytes("shared_id")).map { MessageKey($0, by: author) } }
        .compactMap { $0 }
    }

    /// Returns the number of an author's transfers.
    func count(by author: Author, in chat: Int64) throws -> Int {
        try connection.first(
            "SELECT count(*) AS count \(Self.fewTransfers) WHERE m.chat = ? AND m.author = ?", chat,
            SharedMessageTable.word(author)
        ) { Int($0.integer("count")) } ?? 0
    }

    // MARK: - Changes

    /// Accepts the file's chunks from now on.
    func begin(_ file: FileID, isAsked: Bool) throws {
        try connection.execute(
            "INSERT OR IGNORE INTO inline_transfer (file, is_asked) VALUES (?, ?)", file.rawValue, isAsked)
    }

    /// Stores a transfer's last chunk. A complete transfer becomes the file's content, like content inside a
    /// message.
    func keep(_ bytes: [UInt8], as transfer: InlineTransfer, of file: FileID) throws {
        if transfer.isComplete { return try complete(file, with: bytes) }
        try connection.execute(
            "INSERT INTO inline_chunk (file, number, bytes) VALUES (?, ?, ?)", file.rawValue,
            transfer.received, bytes)
        try connection.execute(
            "UPDATE inline_transfer SET received = ? WHERE file = ?", transfer.received, file.rawValue)
    }

    private func complete(_ file: FileID, with last: [UInt8]) throws {
        let earlier = try connection.query(
            "SELECT bytes FROM inline_chunk WHERE file = ? ORDER BY number", file.rawValue
        ) { $0.bytes("bytes") }
        try connection.execute(
            "UPDATE file SET inline_content = ? WHERE id = ?",
            Base64URL.encode(Array(earlier.joined()) + last), file.rawValue)
        try end(file)
    }

    /// Deletes a transfer and its chunks.
    func end(_ file: FileID) throws {
        try connection.execute("DELETE FROM inline_transfer WHERE file = ?", file.rawValue)
    }

    /// Fails all missing inline files of a chat.
    /// - Parameter author: the sender; nil for all senders.
    /// - Returns: the items of these files.
    func giveUp(in chat: Int64, by author: Author? = nil, _ problem: FileProblem) throws -> [ItemID] {
        let lost = try missing(in: chat, by: author)
        for (file, _) in lost {
            try connection.execute(
                "UPDATE file SET status = ?, problem = ?, problem_sentence = ? WHERE id = ?",
                StoredFileStatus.rcvError, problem.kind.rawValue, problem.sentence, file.rawValue)
            try end(file)
        }
        return lost.map(\.item)
    }

    private func missing(in chat: Int64, by author: Author?) throws -> [(file: FileID, item: ItemID)] {
        func read(_ row: borrowing Row) -> (file: FileID, item: ItemID) {
            (FileID(row.integer("id")), ItemID(row.integer("item")))
        }
        guard let author else {
            // Start from the few files: a chat may have any number of messages.
            return try connection.query(
                """
                SELECT f.id, f.item FROM file f CROSS JOIN item i ON i.id = f.item
                CROSS JOIN shared_message m ON m.item = i.id
                WHERE f.profile = ? AND \(Schema.isWithinMessages) AND i.chat = ? ORDER BY i.id
                """, profile, chat, row: read)
        }
        // Start from the author's messages: many members may leave at once, and others may have offered any
        // number of files.
        return try connection.query(
            """
            SELECT f.id, f.item FROM shared_message m INDEXED BY shared_message_shown
            CROSS JOIN file f ON f.item = m.item
            WHERE m.chat = ? AND m.author = ? AND m.item IS NOT NULL AND \(Schema.isWithinMessages) ORDER BY f.item
            """, chat, SharedMessageTable.word(author), row: read)
    }
}

extension InlineTransfer {
    /// From the columns `size` and `received`.
    init?(_ row: borrowing Row) {
        self.init(size: row.unsigned("size"), received: Int(row.integer("received")))
    }
}
