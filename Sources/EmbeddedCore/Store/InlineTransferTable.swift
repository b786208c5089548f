import Base
import ChatCore
import ChatProtocol
import Store

/// Files that come within messages of people on the network, chunk by chunk, until all of each is here.
struct InlineTransferTable {
    private let connection: Connection
    private let profile: Int64

    init(_ connection: Connection, of profile: Int64) {
        self.connection = connection
        self.profile = profile
    }

    // MARK: - What is known

    private static let transfers = """
        FROM inline_transfer t JOIN file f ON f.id = t.file JOIN shared_message m ON m.item = f.item
        """

    /// The same beginning with the transfers, of which there are few: an author may have any number of messages.
    private static let fewTransfers = """
        FROM inline_transfer t CROSS JOIN file f ON f.id = t.file CROSS JOIN shared_message m ON m.item = f.item
        """

    /// nil where its chunks are not taken.
    func transfer(of key: MessageKey, in chat: Int64) throws -> InlineTransfer? {
        let found = try connection.first(
            """
            SELECT f.size, t.received \(Self.transfers)
            WHERE m.chat = ? AND m.author = ? AND m.shared_id = ?
            """, chat, SharedMessageTable.word(key.author), key.id.bytes, row: InlineTransfer.init)
        return found ?? nil
    }

    /// The same of a file.
    func transfer(of file: FileID) throws -> InlineTransfer? {
        let found = try connection.first(
            "SELECT f.size, t.received FROM inline_transfer t JOIN file f ON f.id = t.file WHERE f.id = ?",
            file.rawValue, row: InlineTransfer.init)
        return found ?? nil
    }

    /// Those of an author that nobody has asked for, the oldest first.
    func unasked(by author: Author, in chat: Int64) throws -> [MessageKey] {
        try connection.query(
            """
            SELECT m.shared_id \(Self.fewTransfers) WHERE m.chat = ? AND m.author = ? AND t.is_asked = 0
            ORDER BY f.id
            """, chat, SharedMessageTable.word(author)
        ) { row in SharedMessageID(bytes: row.bytes("shared_id")).map { MessageKey($0, by: author) } }
        .compactMap { $0 }
    }

    /// All of an author, asked for or not.
    func count(by author: Author, in chat: Int64) throws -> Int {
        try connection.first(
            "SELECT count(*) AS count \(Self.fewTransfers) WHERE m.chat = ? AND m.author = ?", chat,
            SharedMessageTable.word(author)
        ) { Int($0.integer("count")) } ?? 0
    }

    // MARK: - How it goes on

    /// From now on its chunks are taken.
    func begin(_ file: FileID, isAsked: Bool) throws {
        try connection.execute(
            "INSERT OR IGNORE INTO inline_transfer (file, is_asked) VALUES (?, ?)", file.rawValue, isAsked)
    }

    /// Keeps the last chunk of a transfer. With all of them its bytes are the content of the file, as of one that came in
    /// its message.
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

    /// Nothing more is taken of it, and what was goes.
    func end(_ file: FileID) throws {
        try connection.execute("DELETE FROM inline_transfer WHERE file = ?", file.rawValue)
    }

    /// Nobody sends the files any more that somebody has offered within messages and that are not here.
    /// - Parameter author: nil: whoever of the chat.
    /// - Returns: the items of these files.
    func giveUp(in chat: Int64, by author: Author? = nil, _ problem: FileProblem) throws -> [ItemID] {
        // From the files on, which are few: a chat or an author may have any number of messages.
        let lost = try connection.query(
            """
            SELECT f.id, f.item, m.author FROM file f CROSS JOIN item i ON i.id = f.item
            CROSS JOIN shared_message m ON m.item = i.id
            WHERE f.profile = ? AND \(Schema.isWithinMessages) AND i.chat = ? ORDER BY i.id
            """, profile, chat
        ) { (file: FileID($0.integer("id")), item: ItemID($0.integer("item")), author: $0.text("author")) }
        .filter { lost in author.map { SharedMessageTable.word($0) == lost.author } ?? true }
        for (file, _, _) in lost {
            try connection.execute(
                "UPDATE file SET status = ?, problem = ?, problem_sentence = ? WHERE id = ?",
                StoredFileStatus.rcvError, problem.kind.rawValue, problem.sentence, file.rawValue)
            try end(file)
        }
        return lost.map(\.item)
    }
}

extension InlineTransfer {
    /// From the columns `size` and `received`.
    init?(_ row: borrowing Row) {
        self.init(size: row.unsigned("size"), received: Int(row.integer("received")))
    }
}
