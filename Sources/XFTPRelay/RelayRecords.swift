import Base
import Cryptography
import Store
import XFTP

/// The record of a chunk.
struct ChunkRecord: Hashable, Sendable {
    let id: Int64
    let senderID: [UInt8]
    /// SubjectPublicKeyInfo.
    let senderKey: [UInt8]
    let size: UInt32
    /// The announced SHA-256. May have any length, because a wrong one never matches.
    let digest: [UInt8]
    /// The creation time in seconds since 1970, rounded down.
    let created: Int64
    /// Whether the bytes are on disk.
    let isStored: Bool
    /// The announcement, while bytes are missing.
    let announcement: Int64?
}

/// The records of a relay in SQLite. Changes survive the process when a call returns. All but new records also survive
/// a power cut. Blocks.
final class RelayRecords: Sendable {
    let database: Database
    private let random: any RandomSource

    /// The length of random IDs, as in the official relay.
    private static let idLength = 16
    static let columns =
        "c.id, c.sender_id, c.sender_key, c.size, c.digest, c.created, c.stored, c.announcement"

    /// - Parameter key: The encryption key, or nil for a plain database.
    init(path: String, key: SecretBytes? = nil, random: any RandomSource) throws(StoreError) {
        database = try Database(
            path: path, migrations: Self.migrations, key: key, durability: .eventual, reservesSpace: true)
        self.random = random
    }

    /// `announcement`: the chunks that one address announced and has not uploaded. The exact time is stored only until
    /// the upload.
    static let migrations = [
        Migration(
            "relay records 0.1",
            """
            CREATE TABLE chunk (
                id INTEGER PRIMARY KEY,
                sender_id BLOB NOT NULL UNIQUE,
                sender_key BLOB NOT NULL,
                size INTEGER NOT NULL,
                digest BLOB NOT NULL,
                created INTEGER NOT NULL,
                stored INTEGER NOT NULL DEFAULT 0,
                announcement INTEGER REFERENCES announcement (id)
            ) STRICT;
            CREATE INDEX chunk_by_age ON chunk (created);
            CREATE TABLE recipient (
                recipient_id BLOB PRIMARY KEY,
                chunk INTEGER NOT NULL REFERENCES chunk (id) ON DELETE CASCADE,
                key BLOB NOT NULL
            ) STRICT, WITHOUT ROWID;
            CREATE INDEX recipient_by_chunk ON recipient (chunk);
            CREATE TABLE announcement (
                id INTEGER PRIMARY KEY,
                due INTEGER NOT NULL
            ) STRICT;
            CREATE INDEX announcement_by_due ON announcement (due);
            CREATE INDEX chunk_by_announcement ON chunk (announcement) WHERE announcement IS NOT NULL;
            """, replaces: DevelopmentSchema(steps: 2, last: "announcements"))
    ]

    static func record(_ row: borrowing Row) -> ChunkRecord {
        ChunkRecord(
            id: row.integer("id"), senderID: row.bytes("sender_id"), senderKey: row.bytes("sender_key"),
            size: UInt32(clamping: row.integer("size")), digest: row.bytes("digest"),
            created: row.integer("created"),
            isStored: row.bool("stored"), announcement: row.integerOrNil("announcement"))
    }

    /// Returns the number of chunks, and of those without bytes.
    func counts() throws -> (chunks: Int, unfinished: Int) {
        try database.read { connection in
            func count(_ rows: String) throws -> Int {
                try connection.first("SELECT count(*) AS count FROM \(rows)") { Int($0.integer("count")) }
                    ?? 0
            }
            return (try count("chunk"), try count("chunk WHERE stored = 0"))
        }
    }

    /// Returns the quota used by all records, in bytes.
    func storedSize() throws -> UInt64 {
        try database.read { connection in
            func count(_ table: String) throws -> UInt64 {
                try connection.first("SELECT count(*) AS count FROM \(table)") { $0.unsigned("count") } ?? 0
            }
            return try count("chunk") * Quota.chunkRecord + count("recipient") * Quota.recipientRecord
        }
    }

    /// FNEW: creates a record and its recipients. Returns the new IDs, recipients in the order of their keys, or nil if
    /// `announcement` already has `limit` missing chunks. A power cut may lose the record until the upload; the client
    /// then creates the chunk again.
    func create(
        _ chunk: XFTPCommand.NewChunk, created: Int64, in announcement: Announcement, limit: Int
    ) throws -> (sender: [UInt8], recipients: [[UInt8]])? {
        let senderID = random.bytes(Self.idLength)
        return try database.transaction { connection in
            try connection.execute(
                """
                INSERT INTO announcement (id, due) VALUES (?, ?)
                ON CONFLICT (id) DO UPDATE SET due = excluded.due WHERE due < excluded.due
                """, announcement.id, announcement.due)
            let waiting = try connection.first(
                "SELECT count(*) AS count FROM chunk WHERE announcement = ?", announcement.id
            ) { Int($0.integer("count")) }
            guard waiting ?? 0 < limit else { return nil }
            try connection.execute(
                """
                INSERT INTO chunk (sender_id, sender_key, size, digest, created, announcement)
                VALUES (?, ?, ?, ?, ?, ?)
                """, senderID, chunk.senderKey, chunk.size, chunk.digest, created, announcement.id)
            let id = connection.lastInsertedID
            return (senderID, try self.insert(chunk.recipientKeys, of: id, into: connection))
        }
    }

    /// Extends an announcement until its new due time.
    func extend(_ announcement: Announcement) throws {
        try database.transaction {
            _ = try $0.execute(
                "UPDATE announcement SET due = ?1 WHERE id = ?2 AND due < ?1", announcement.due,
                announcement.id)
        }
    }

    /// FADD: adds recipients. Returns nil if the record does not exist, and an empty array if it would have more than
    /// `limit`.
    func addRecipients(_ keys: [[UInt8]], to chunk: Int64, limit: Int) throws -> [[UInt8]]? {
        try database.durableTransaction { connection in
            guard try connection.exists("SELECT 1 FROM chunk WHERE id = ?", chunk) else { return nil }
            let count = try connection.first("SELECT count(*) AS count FROM recipient WHERE chunk = ?", chunk)
            {
                Int($0.integer("count"))
            }
            guard (count ?? 0) + keys.count <= limit else { return [] }
            return try self.insert(keys, of: chunk, into: connection)
        }
    }

    private func insert(
        _ keys: [[UInt8]], of chunk: Int64, into connection: Connection
    ) throws -> [[UInt8]] {
        try keys.map { key in
            let id = random.bytes(Self.idLength)
            try connection.execute(
                "INSERT INTO recipient (recipient_id, chunk, key) VALUES (?, ?, ?)", id, chunk, key)
            return id
        }
    }

    func chunk(ofSender id: [UInt8]) throws -> ChunkRecord? {
        try database.read { connection in
            try connection.first(
                "SELECT \(Self.columns) FROM chunk c WHERE c.sender_id = ?", id, row: Self.record)
        }
    }

    func chunk(ofRecipient id: [UInt8]) throws -> (record: ChunkRecord, key: [UInt8])? {
        try database.read { connection in
            try connection.first(
                """
                SELECT \(Self.columns), r.key FROM recipient r JOIN chunk c ON c.id = r.chunk
                WHERE r.recipient_id = ?
                """, id
            ) { row in (Self.record(row), row.bytes("key")) }
        }
    }

    enum Marking { case marked, wasStored, isGone }

    /// Marks the bytes as stored, which acknowledges the chunk.
    func markStored(_ chunk: Int64) throws -> Marking {
        try database.durableTransaction { connection in
            let announcement = try connection.first("SELECT announcement FROM chunk WHERE id = ?", chunk) {
                $0.integerOrNil("announcement")
            }
            let marked = try connection.execute(
                "UPDATE chunk SET stored = 1, announcement = NULL WHERE id = ? AND stored = 0", chunk)
            if marked > 0, case let announcement?? = announcement {
                try self.forget(announcement, connection)
            }
            if marked > 0 { return .marked }
            return try connection.exists("SELECT 1 FROM chunk WHERE id = ?", chunk) ? .wasStored : .isGone
        }
    }

    /// Marks the bytes as lost. The chunk can be uploaded again.
    func markLost(_ chunk: Int64) throws {
        try database.durableTransaction {
            _ = try $0.execute("UPDATE chunk SET stored = 0 WHERE id = ?", chunk)
        }
    }

    /// FACK: deletes a recipient ID. Returns false if it did not exist.
    func removeRecipient(_ id: [UInt8]) throws -> Bool {
        try database.durableTransaction {
            try $0.execute("DELETE FROM recipient WHERE recipient_id = ?", id) > 0
        }
    }

    /// Returns all records with stored bytes.
    func storedChunks() throws -> [ChunkRecord] {
        try database.read { connection in
            try connection.query("SELECT \(Self.columns) FROM chunk c WHERE c.stored = 1", row: Self.record)
        }
    }
}
