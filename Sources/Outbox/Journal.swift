import Base
import ChatCore
import Store

/// The rows behind the drafts: what is known after a crash. All calls block.
///
/// A row changes without waiting for the disk, which a killed process survives and a power cut may
/// undo in reverse order. What is promised to survive a power cut (`fsync`, a queued draft) is
/// written by a durable transaction, which carries all earlier changes with it.
final class Journal: Sendable {
    /// State of a row. A draft is `open` or `closed`; the other words are those of `DraftState`.
    enum State: String, Sendable {
        /// Somebody is in the middle of writing.
        case open
        /// What is there is complete, as far as can be known: nobody has it open for writing, or all who have
        /// closed a descriptor since they wrote last.
        case closed
        case queued
        case sent
        case failed
        case unsure
        case recovered
    }

    struct Entry: Sendable {
        var id: Int64 = 0
        var chat: ChatReference
        var name: [UInt8]
        /// Name of its file in the spool, and the key that seals it.
        var spool: String
        var key: [UInt8]
        /// The mark by which the core recognises a repeated send.
        var message: String
        var state: State = .open
        var size: UInt64 = 0
        var modified: Timestamp
        var caption: String = ""
        var gap: Gap?
        /// The user said that it is to be sent though it may have been sent before.
        var isConfirmed = false
        /// Its spool file has been synchronised since its last write.
        var isDurable = false
        /// The boot in which it was closed.
        var boot: String = ""
        /// When it was last closed or renamed, in `SeenTime`; what stays local goes some time after.
        var touched: Int64
        /// Counts last closes: in this order the drafts of a chat are sent.
        var place: Int64 = 0
        var staged: Staged?
        var item: ItemID?
        var problem: String?
    }

    /// Why something is missing in a draft. Numbers of the column `broken`.
    enum Gap: Int64, Sendable {
        /// A write failed.
        case failedWrite = 1
        /// Who wrote it was killed.
        case killedWriter = 2
    }

    /// A CryptoFile in the core's staging folder, complete and on disk.
    struct Staged: Hashable, Sendable {
        /// Folder of its own inside the staging folder.
        var folder: String
        /// Name inside, the one that the recipients see.
        var fileName: String
        var arguments: FileArguments
        var kind: MessageContent.Kind
    }

    static let migrations = [
        Migration(
            "drafts",
            """
            CREATE TABLE outbox (mark TEXT NOT NULL) STRICT;
            CREATE TABLE draft (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                chat TEXT NOT NULL,
                name BLOB NOT NULL,
                spool TEXT NOT NULL UNIQUE,
                key BLOB NOT NULL,
                message TEXT NOT NULL UNIQUE,
                state TEXT NOT NULL
                    CHECK (state IN ('open', 'closed', 'queued', 'sent', 'failed', 'unsure', 'recovered')),
                size INTEGER NOT NULL,
                modified INTEGER NOT NULL,
                caption TEXT NOT NULL,
                broken INTEGER NOT NULL,
                confirmed INTEGER NOT NULL DEFAULT 0,
                durable INTEGER NOT NULL,
                boot TEXT NOT NULL,
                touched INTEGER NOT NULL,
                staged_folder TEXT,
                staged_name TEXT,
                staged_key BLOB,
                staged_nonce BLOB,
                staged_kind TEXT,
                item INTEGER,
                problem TEXT,
                CHECK ((state = 'queued') <= (staged_folder IS NOT NULL)),
                CHECK ((state = 'sent') <= (item IS NOT NULL))
            ) STRICT;
            """),
        Migration(
            "order",
            """
            ALTER TABLE draft ADD COLUMN place INTEGER NOT NULL DEFAULT 0;
            UPDATE draft SET place = id;
            """),
        Migration(
            "age",
            """
            ALTER TABLE outbox ADD COLUMN seen INTEGER NOT NULL DEFAULT 0;
            UPDATE draft SET touched = 0;
            """),
    ]

    private let database: Database
    /// Begins the names of this outbox's folders in the staging folder, which it may share.
    let mark: String

    init(path: String, random: any RandomSource) throws {
        let database = try Database(path: path, migrations: Self.migrations, durability: .eventual)
        mark = try database.transaction { connection in
            if let mark = try connection.first("SELECT mark FROM outbox", row: { $0.text(0) }) { return mark }
            let mark = "out" + Hexadecimal.encode(random.bytes(6))
            try connection.execute("INSERT INTO outbox (mark) VALUES (?)", mark)
            return mark
        }
        self.database = database
    }

    func close() { database.close() }

    /// The place of what was closed last.
    func lastPlace() throws -> Int64 {
        try database.read { connection in
            try connection.first("SELECT coalesce(max(place), 0) FROM draft", row: { $0.integer(0) }) ?? 0
        }
    }

    /// What `SeenTime` was when it was last noted.
    func seen() throws -> Int64 {
        try database.read { try $0.first("SELECT seen FROM outbox", row: { $0.integer(0) }) ?? 0 }
    }

    func note(seen: Int64) throws {
        try database.transaction { try $0.execute("UPDATE outbox SET seen = ?", seen) }
    }

    /// Makes everything that was written so far durable: SQLite synchronises its log before it copies from it.
    func synchronise() throws { try database.checkpoint() }

    /// Adds a row and answers its id, never used before.
    func insert(_ entry: Entry) throws -> Int64 {
        try database.transaction { connection in
            try connection.execute(
                """
                INSERT INTO draft (chat, name, spool, key, message, state, size, modified, caption,
                    broken, durable, boot, touched)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                entry.chat.description, entry.name, entry.spool, entry.key, entry.message,
                entry.state.rawValue, entry.size, entry.modified, entry.caption, entry.gap?.rawValue ?? 0,
                entry.isDurable, entry.boot, entry.touched)
            return connection.lastInsertedID
        }
    }

    /// Writes what can change of some rows and removes others, all of it or nothing.
    func apply(_ entries: [Entry] = [], removing removed: [Int64] = [], durably: Bool = false) throws {
        let change = { (connection: Connection) in
            for id in removed { try connection.execute("DELETE FROM draft WHERE id = ?", id) }
            for entry in entries { try Self.update(entry, connection) }
        }
        if durably {
            try database.durableTransaction(change)
        } else {
            try database.transaction(change)
        }
    }

    private static func update(_ entry: Entry, _ connection: Connection) throws {
        let staged = entry.staged
        try connection.execute(
            """
            UPDATE draft SET name = ?, state = ?, size = ?, modified = ?, caption = ?, broken = ?,
                confirmed = ?, durable = ?, boot = ?, touched = ?, staged_folder = ?, staged_name = ?,
                staged_key = ?, staged_nonce = ?, staged_kind = ?, item = ?, problem = ?, place = ?
            WHERE id = ?
            """,
            entry.name, entry.state.rawValue, entry.size, entry.modified, entry.caption,
            entry.gap?.rawValue ?? 0, entry.isConfirmed, entry.isDurable, entry.boot, entry.touched,
            staged?.folder, staged?.fileName,
            staged?.arguments.key, staged?.arguments.nonce, staged.map { $0.kind.journalText },
            entry.item?.rawValue, entry.problem, entry.place, entry.id)
    }

    /// All rows, oldest first. A row that makes no sense fails as a whole: what it stands for must not be
    /// swept from the spool.
    func entries() throws -> [Entry] {
        try database.read { connection in
            try connection.query(
                """
                SELECT id, chat, name, spool, key, message, state, size, modified, caption, broken,
                    durable, boot, touched, staged_folder, staged_name, staged_key,
                    staged_nonce, staged_kind, item, problem, confirmed, place
                FROM draft ORDER BY id
                """, row: Self.entry)
        }
    }

    private static func entry(_ row: borrowing Row) throws -> Entry {
        guard let chat = ChatReference(row.text(1)), let state = State(rawValue: row.text(6)) else {
            throw StoreError(.damaged, "The journal of the outbox is damaged: a row makes no sense.")
        }
        var entry = Entry(
            id: row.integer(0), chat: chat, name: row.bytes(2), spool: row.text(3), key: row.bytes(4),
            message: row.text(5), state: state, size: row.unsigned(7), modified: row.timestamp(8),
            caption: row.text(9), gap: Gap(rawValue: row.integer(10)), isDurable: row.bool(11),
            boot: row.text(12),
            touched: row.integer(13), item: row.integerOrNil(19).map(ItemID.init),
            problem: row.textOrNil(20))
        entry.isConfirmed = row.bool(21)
        entry.place = row.integer(22)
        if let folder = row.textOrNil(14) {
            entry.staged = Staged(
                folder: folder, fileName: row.text(15),
                arguments: FileArguments(key: row.bytes(16), nonce: row.bytes(17)),
                kind: MessageContent.Kind(journalText: row.text(18)))
        }
        return entry
    }
}

extension MessageContent.Kind {
    /// `file`, `image`, `video 12`, `voice 7`: kinds that the outbox sends.
    fileprivate var journalText: String {
        switch self {
        case .text, .file: "file"
        case .image: "image"
        case .video(_, let seconds): "video \(seconds)"
        case .voice(let seconds): "voice \(seconds)"
        }
    }

    fileprivate init(journalText: String) {
        let parts = journalText.split(separator: " ")
        let seconds = parts.count == 2 ? Int(parts[1]) ?? 0 : 0
        switch parts.first {
        case "image": self = .image(preview: "")
        case "video": self = .video(preview: "", seconds: seconds)
        case "voice": self = .voice(seconds: seconds)
        default: self = .file
        }
    }
}
