import Base
import Store

/// What a relay knows about one chunk.
struct ChunkRecord: Hashable, Sendable {
    let id: Int64
    let senderID: [UInt8]
    /// SubjectPublicKeyInfo.
    let senderKey: [UInt8]
    let size: UInt32
    /// SHA-256 as announced; of any length, a wrong one never fits.
    let digest: [UInt8]
    /// Seconds since 1970, rounded down.
    let created: Int64
    /// The bytes are on disk.
    let isStored: Bool
}

/// The records of a relay in SQLite. Every change outlives the process when its call returns and, a new
/// record apart, a power cut. Blocks.
final class RelayRecords: Sendable {
    private let database: Database
    private let random: any RandomSource

    /// As in the official relay: random, and not to be guessed.
    private static let idLength = 16
    private static let columns = "c.id, c.sender_id, c.sender_key, c.size, c.digest, c.created, c.stored"

    init(path: String, random: any RandomSource) throws(StoreError) {
        database = try Database(path: path, migrations: Self.migrations, durability: .eventual)
        self.random = random
    }

    private static let migrations = [
        Migration(
            "relay records",
            """
            CREATE TABLE chunk (
                id INTEGER PRIMARY KEY,
                sender_id BLOB NOT NULL UNIQUE,
                sender_key BLOB NOT NULL,
                size INTEGER NOT NULL,
                digest BLOB NOT NULL,
                created INTEGER NOT NULL,
                stored INTEGER NOT NULL DEFAULT 0
            ) STRICT;
            CREATE INDEX chunk_by_age ON chunk (created);
            CREATE TABLE recipient (
                recipient_id BLOB PRIMARY KEY,
                chunk INTEGER NOT NULL REFERENCES chunk (id) ON DELETE CASCADE,
                key BLOB NOT NULL
            ) STRICT, WITHOUT ROWID;
            CREATE INDEX recipient_by_chunk ON recipient (chunk);
            """)
    ]

    private static func record(_ row: borrowing Row) -> ChunkRecord {
        ChunkRecord(
            id: row.integer(0), senderID: row.bytes(1), senderKey: row.bytes(2),
            size: UInt32(clamping: row.integer(3)), digest: row.bytes(4), created: row.integer(5),
            isStored: row.bool(6))
    }

    /// FNEW: a record and its recipients. Answers the new IDs, recipients in the order of their keys. Not safe
    /// against a power cut before its bytes are: who meets one makes the chunk anew.
    func create(
        senderKey: [UInt8], size: UInt32, digest: [UInt8], recipientKeys: [[UInt8]], created: Int64
    ) throws -> (sender: [UInt8], recipients: [[UInt8]]) {
        let senderID = random.bytes(Self.idLength)
        return try database.transaction { connection in
            try connection.execute(
                "INSERT INTO chunk (sender_id, sender_key, size, digest, created) VALUES (?, ?, ?, ?, ?)",
                senderID, senderKey, size, digest, created)
            let chunk = connection.lastInsertedID
            return (senderID, try self.insert(recipientKeys, of: chunk, into: connection))
        }
    }

    /// FADD: more recipients; nil when the record is gone.
    func addRecipients(_ keys: [[UInt8]], to chunk: Int64) throws -> [[UInt8]]? {
        try database.durableTransaction { connection in
            guard try connection.exists("SELECT 1 FROM chunk WHERE id = ?", chunk) else { return nil }
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
            ) { row in (Self.record(row), row.bytes(7)) }
        }
    }

    enum Marking { case marked, wasStored, isGone }

    /// Notes that the bytes are on disk: from here on the chunk is acknowledged.
    func markStored(_ chunk: Int64) throws -> Marking {
        try database.durableTransaction { connection in
            if try connection.execute("UPDATE chunk SET stored = 1 WHERE id = ? AND stored = 0", chunk) > 0 {
                return .marked
            }
            return try connection.exists("SELECT 1 FROM chunk WHERE id = ?", chunk) ? .wasStored : .isGone
        }
    }

    /// The bytes of a chunk are lost; its record stays and can be uploaded again.
    func markLost(_ chunk: Int64) throws {
        try database.durableTransaction {
            _ = try $0.execute("UPDATE chunk SET stored = 0 WHERE id = ?", chunk)
        }
    }

    /// FDEL. Answers whether bytes were on disk at that moment, nil when the record was gone.
    func delete(_ chunk: Int64) throws -> Bool? {
        try database.durableTransaction { connection in
            let stored = try connection.first("SELECT stored FROM chunk WHERE id = ?", chunk) { $0.bool(0) }
            try connection.execute("DELETE FROM chunk WHERE id = ?", chunk)
            return stored
        }
    }

    /// FACK: this one recipient has no more access.
    func removeRecipient(_ id: [UInt8]) throws {
        try database.durableTransaction {
            _ = try $0.execute("DELETE FROM recipient WHERE recipient_id = ?", id)
        }
    }

    /// Up to `limit` records created before `time`, oldest first.
    func chunks(createdBefore time: Int64, limit: Int) throws -> [ChunkRecord] {
        try database.read { connection in
            try connection.query(
                "SELECT \(Self.columns) FROM chunk c WHERE c.created < ? ORDER BY c.created LIMIT ?", time,
                limit, row: Self.record)
        }
    }

    /// All records whose bytes are on disk.
    func storedChunks() throws -> [ChunkRecord] {
        try database.read { connection in
            try connection.query("SELECT \(Self.columns) FROM chunk c WHERE c.stored = 1", row: Self.record)
        }
    }
}
