import Base
import ChatCore
import Cryptography
import Store

/// The rows of drafts, which survive a crash. All calls block.
///
/// Normal transactions do not wait for the disk: they survive a kill, but a power cut may undo the latest
/// ones. Durable transactions, for `fsync` and queued drafts, survive a power cut together with all earlier
/// changes.
final class Journal: Sendable {
    /// A row.
    struct Entry: Hashable, Sendable {
        var record: DraftRecord
        var state: StoredState

        init(_ record: DraftRecord, _ state: StoredState) {
            self.record = record
            self.state = state
        }
    }

    /// * `name` may be a path (`PartPath`).
    /// * `withdrawn`: removed, but the core may have it. Such a row is `unsure` too, and is never sent by itself.
    /// * `hold`: why a draft may be unfinished (`HoldReason`), or that the user wants it as it is.
    static let migrations = [
        Migration(
            "drafts 0.1",
            """
            CREATE TABLE outbox (mark TEXT NOT NULL, seen INTEGER NOT NULL DEFAULT 0) STRICT;
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
                place INTEGER NOT NULL DEFAULT 0,
                withdrawn INTEGER NOT NULL DEFAULT 0,
                hold TEXT,
                CHECK ((state = 'queued') <= (staged_folder IS NOT NULL)),
                CHECK ((state = 'sent') <= (item IS NOT NULL))
            ) STRICT;
            """, replaces: DevelopmentSchema(steps: 6, last: "holds")),
        // Offset of the content in a staged file that has a header.
        Migration("streams", "ALTER TABLE draft ADD COLUMN staged_offset INTEGER;"),
    ]

    let database: Database
    /// Prefix of this outbox's folders in the staging folder, which may be shared.
    let mark: String

    /// - Parameters:
    ///   - key: Encryption key; nil if not encrypted.
    ///   - reservesSpace: If true, drafts can be removed on a full disk.
    /// - Throws: `StoreError`.
    init(
        path: String, key: SecretBytes? = nil, reservesSpace: Bool = false, random: any RandomSource
    ) throws {
        let database = try Database(
            path: path, migrations: Self.migrations, key: key, durability: .eventual,
            reservesSpace: reservesSpace)
        mark = try database.transaction { connection in
            if let mark = try connection.first("SELECT mark FROM outbox", row: { $0.text("mark") }) {
                return mark
            }
            let mark = "out" + Hexadecimal.encode(random.bytes(6))
            try connection.execute("INSERT INTO outbox (mark) VALUES (?)", mark)
            return mark
        }
        self.database = database
    }

    func close() { database.close() }

    /// Call after a removal has freed space.
    func reserveSpace() { database.reserveSpace() }

    /// The highest sequence number of a close.
    func lastSequence() throws -> Int64 {
        try database.read { connection in
            try connection.first("SELECT max(place) AS last FROM draft", row: { $0.integer("last") }) ?? 0
        }
    }

    /// The saved `Uptime` in seconds.
    func uptime() throws -> Int64 {
        try database.read { try $0.first("SELECT seen FROM outbox", row: { $0.integer("seen") }) ?? 0 }
    }

    func save(uptime: Int64) throws {
        try database.transaction { try $0.execute("UPDATE outbox SET seen = ?", uptime) }
    }

    /// Makes all earlier changes durable by a durable transaction, which unlike a checkpoint does not wait
    /// for readers.
    func synchronise() throws { try database.commitOverUnfinished() }

    /// Inserts the row of a new draft and returns its unique id.
    func insert(_ record: DraftRecord) throws -> Int64 {
        try database.transaction { connection in
            try connection.execute(
                """
                INSERT INTO draft (chat, name, spool, key, message, state, size, modified, caption,
                    broken, durable, boot, touched)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                record.chat.description, record.name, record.spool, record.key, record.message,
                StoredState.open.word.rawValue, record.size, record.modified, record.caption,
                record.gap?.rawValue ?? 0, record.isDurable, record.boot, record.touched)
            return connection.lastInsertedID
        }
    }

    /// Updates and deletes rows in one transaction.
    func apply(_ entries: [Entry] = [], removing removed: [Int64] = [], durably: Bool = false) throws {
        let change = { (connection: Connection) in
            for id in removed { try connection.execute("DELETE FROM draft WHERE id = ?", id) }
            for entry in entries { try Self.update(entry, connection) }
        }
        if !removed.isEmpty {
            try database.freeingTransaction(durably: durably, change)
        } else if durably {
            try database.durableTransaction(change)
        } else {
            try database.transaction(change)
        }
    }

    /// The word for a wanted draft in the column `hold`.
    private static let wanted = "wanted"

    private static func update(_ entry: Entry, _ connection: Connection) throws {
        let (record, staged) = (entry.record, entry.state.staged)
        try connection.execute(
            """
            UPDATE draft SET name = ?, state = ?, size = ?, modified = ?, caption = ?, broken = ?,
                confirmed = ?, durable = ?, boot = ?, touched = ?, staged_folder = ?, staged_name = ?,
                staged_key = ?, staged_nonce = ?, staged_kind = ?, item = ?, problem = ?, place = ?,
                withdrawn = ?, hold = ?, staged_offset = ?
            WHERE id = ?
            """,
            record.name, entry.state.word.rawValue, record.size, record.modified, record.caption,
            record.gap?.rawValue ?? 0, entry.state.isConfirmed, record.isDurable, record.boot,
            record.touched, staged?.folder, staged?.fileName, staged?.arguments.key, staged?.arguments.nonce,
            staged.map { $0.kind.journalText }, entry.state.item?.rawValue, record.problem, record.sequence,
            entry.state == .withdrawn, record.isWanted ? wanted : record.hold?.journalText,
            staged?.arguments.content.map { Int64(clamping: $0.lowerBound) }, record.id)
    }

    /// Returns all rows, oldest first. Fails as a whole for an invalid row, so that its spool file is not
    /// deleted.
    /// - Throws: `StoreError`; `.damaged` for an invalid row.
    func entries() throws -> [Entry] {
        try database.read { connection in
            try connection.query(
                """
                SELECT id, chat, name, spool, key, message, size, modified, caption, broken, durable, boot,
                    touched, problem, place, state, confirmed, item, staged_folder, staged_name, staged_key,
                    staged_nonce, staged_kind, staged_offset, withdrawn, hold
                FROM draft ORDER BY id
                """, row: Self.entry)
        }
    }

    private static func entry(_ row: borrowing Row) throws -> Entry {
        let (gap, hold) = (row.integer("broken"), row.textOrNil("hold"))
        guard let chat = ChatReference(row.text("chat")),
            let word = StoredState.Word(rawValue: row.text("state")),
            let state = StoredState(
                word: word, isConfirmed: row.bool("confirmed"),
                isWithdrawn: row.bool("withdrawn"),
                item: row.integerOrNil("item").map(ItemID.init), staged: staged(row)),
            gap == 0 || DraftRecord.Gap(rawValue: gap) != nil,
            hold == nil || hold == wanted || hold.flatMap(HoldReason.init(journalText:)) != nil
        else {
            throw StoreError(.damaged, "The journal of the outbox is damaged: a row makes no sense.")
        }
        var record = DraftRecord(
            id: row.integer("id"), chat: chat, name: row.bytes("name"), spool: row.text("spool"),
            key: row.bytes("key"), message: row.text("message"), size: row.unsigned("size"),
            modified: row.timestamp("modified"), caption: row.text("caption"),
            gap: DraftRecord.Gap(rawValue: gap), isDurable: row.bool("durable"), boot: row.text("boot"),
            touched: row.integer("touched"))
        record.problem = row.textOrNil("problem")
        record.hold = hold.flatMap(HoldReason.init(journalText:))
        record.isWanted = hold == wanted
        record.sequence = row.integer("place")
        return Entry(record, state)
    }

    private static func staged(_ row: borrowing Row) -> StagedFile? {
        guard let folder = row.textOrNil("staged_folder") else { return nil }
        return StagedFile(
            folder: folder, fileName: row.text("staged_name"),
            arguments: FileArguments(
                key: row.bytes("staged_key"), nonce: row.bytes("staged_nonce"),
                content: content(row.integerOrNil("staged_offset"), row.unsigned("size"))),
            kind: MessageContent.Kind(journalText: row.text("staged_kind")))
    }

    private static func content(_ offset: Int64?, _ size: UInt64) -> Range<UInt64>? {
        guard let start = offset.flatMap({ UInt64(exactly: $0) }) else { return nil }
        let (end, isTooLarge) = start.addingReportingOverflow(size)
        return isTooLarge ? nil : start..<end
    }
}

// Columns of a state.
extension StoredState {
    /// Values of `draft.state`, which a constraint of the table lists too.
    fileprivate enum Word: String {
        case open, closed, queued, sent, failed, unsure, recovered
    }

    fileprivate var word: Word {
        switch self {
        case .open: .open
        case .closed: .closed
        case .queued: .queued
        case .sent: .sent
        case .failed: .failed
        case .unsure, .withdrawn: .unsure
        case .recovered: .recovered
        }
    }

    fileprivate var isConfirmed: Bool {
        if case .queued(_, let isConfirmed) = self { isConfirmed } else { false }
    }

    fileprivate var item: ItemID? { if case .sent(let item) = self { item } else { nil } }

    /// Returns nil for an invalid combination of columns.
    fileprivate init?(
        word: Word, isConfirmed: Bool, isWithdrawn: Bool, item: ItemID?, staged: StagedFile?
    ) {
        if isWithdrawn {
            self = .withdrawn
            return
        }
        switch (word, staged, item) {
        case (.open, _, _): self = .open
        case (.closed, _, _): self = .closed
        case (.recovered, _, _): self = .recovered
        case (.queued, let staged?, _): self = .queued(staged, isConfirmed: isConfirmed)
        case (.failed, let staged?, _): self = .failed(staged)
        case (.unsure, let staged?, _): self = .unsure(staged)
        case (.sent, _, let item?): self = .sent(item)
        case (.queued, nil, _), (.failed, nil, _), (.unsure, nil, _), (.sent, _, nil): return nil
        }
    }
}

extension MessageContent.Kind {
    /// `file`, `image`, `video 12` or `voice 7`, with the duration in seconds.
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
