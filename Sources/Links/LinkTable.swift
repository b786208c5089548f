import Base
import ChatCore
import Store

/// The rows of the folder of links, within one transaction.
struct LinkTable {
    static let migrations = [
        Migration(
            "links",
            """
            CREATE TABLE link (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                kind TEXT NOT NULL CHECK (kind IN ('upload', 'added', 'shortcut')),
                main INTEGER REFERENCES link,
                message TEXT UNIQUE,
                digest BLOB UNIQUE,
                name TEXT NOT NULL,
                size INTEGER NOT NULL,
                status TEXT NOT NULL,
                problem TEXT,
                problem_sentence TEXT,
                stored_name TEXT,
                key BLOB,
                nonce BLOB,
                upload INTEGER,
                has_begun INTEGER NOT NULL DEFAULT 0,
                link TEXT,
                description TEXT,
                caption TEXT NOT NULL DEFAULT '',
                created INTEGER NOT NULL,
                expires INTEGER
            ) STRICT;
            CREATE INDEX link_by_main ON link (main) WHERE main IS NOT NULL;
            CREATE INDEX link_unsettled ON link (status) WHERE status IN ('uploading', 'failed', 'removed',
                'cancelled');
            """)
    ]

    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    // MARK: - Reading

    func row(_ id: Int64) throws -> LinkRow? {
        try connection.first("SELECT \(LinkRow.columns) FROM link WHERE id = ?", id) { try LinkRow($0) }
    }

    /// Newest first, without removed entries.
    func rows(before: Int64?, count: Int) throws -> [LinkRow] {
        try connection.query(
            """
            SELECT \(LinkRow.columns) FROM link WHERE id < ? AND status != 'removed'
            ORDER BY id DESC LIMIT ?
            """, before ?? .max, Int64(count)
        ) { try LinkRow($0) }
    }

    func count() throws -> Int {
        try connection.first("SELECT count(*) AS n FROM link WHERE status != 'removed'") {
            Int($0.integer("n"))
        } ?? 0
    }

    func row(sentAs message: String) throws -> LinkRow? {
        try connection.first("SELECT \(LinkRow.columns) FROM link WHERE message = ?", message) {
            try LinkRow($0)
        }
    }

    func row(ofLink digest: [UInt8]) throws -> LinkRow? {
        try connection.first("SELECT \(LinkRow.columns) FROM link WHERE digest = ?", digest) {
            try LinkRow($0)
        }
    }

    func rows(_ statuses: [LinkStatus]) throws -> [LinkRow] {
        try statuses.flatMap { status in
            try connection.query(
                "SELECT \(LinkRow.columns) FROM link WHERE status = '\(status.rawValue)' ORDER BY id"
            ) { try LinkRow($0) }
        }
    }

    func shortcuts(of main: Int64) throws -> [LinkRow] {
        try connection.query("SELECT \(LinkRow.columns) FROM link WHERE main = ?", main) { try LinkRow($0) }
    }

    func storedNames() throws -> Set<String> {
        Set(
            try connection.query("SELECT stored_name FROM link WHERE stored_name IS NOT NULL") {
                $0.text("stored_name")
            })
    }

    // MARK: - Changing

    func insertUpload(_ message: ComposedMessage, storedName: String, created: Timestamp) throws -> Int64 {
        try connection.execute(
            """
            INSERT INTO link (kind, message, name, size, status, stored_name, key, nonce, caption, created)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, LinkKind.upload, message.id, message.fileName, message.size, LinkStatus.uploading,
            storedName, message.source.arguments?.key, message.source.arguments?.nonce, message.content.text,
            created)
        return connection.lastInsertedID
    }

    struct Addition: Sendable {
        var digest: [UInt8]
        var name: String
        var size: UInt64
        var link: String
        var description: String
        var expires: Timestamp?
    }

    func insertAdded(_ added: Addition, created: Timestamp) throws -> Int64 {
        try connection.execute(
            """
            INSERT INTO link (kind, digest, name, size, status, link, description, created, expires)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, LinkKind.added, added.digest, added.name, added.size, LinkStatus.offered, added.link,
            added.description, created, added.expires)
        return connection.lastInsertedID
    }

    func insertShortcut(
        of main: Int64, name: String, size: UInt64, storedName: String, _ arguments: FileArguments,
        created: Timestamp
    ) throws -> Int64 {
        try connection.execute(
            """
            INSERT INTO link (kind, main, name, size, status, stored_name, key, nonce, created)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, LinkKind.shortcut, main, name, size, LinkStatus.stored, storedName, arguments.key,
            arguments.nonce, created)
        return connection.lastInsertedID
    }

    /// Sets the status and problem of a row with an `expected` status. Returns false for other rows.
    func setStatus(
        _ status: LinkStatus, of id: Int64, from expected: [LinkStatus], problem: FileProblem? = nil
    ) throws -> Bool {
        let words = expected.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        return try connection.execute(
            "UPDATE link SET status = ?, problem = ?, problem_sentence = ? WHERE id = ? AND status IN (\(words))",
            status, problem?.kind.rawValue, problem?.sentence, id) > 0
    }

    /// Notes that the core is about to be asked to upload it, or the number of its upload.
    func noteBegun(_ id: Int64, upload: FileID?, expires: Timestamp?) throws {
        try connection.execute(
            """
            UPDATE link SET has_begun = 1, upload = coalesce(?, upload), expires = coalesce(?, expires)
            WHERE id = ?
            """, upload?.rawValue, expires, id)
    }

    /// Notes that the relays have nothing of it any more.
    func noteEnded(_ id: Int64) throws {
        try connection.execute(
            "UPDATE link SET has_begun = 0, upload = NULL, link = NULL, expires = NULL WHERE id = ?", id)
    }

    func setLink(_ link: String, of id: Int64) throws {
        try connection.execute("UPDATE link SET link = ? WHERE id = ?", link, id)
    }

    func setSource(of id: Int64, _ storedName: String, _ arguments: FileArguments?) throws {
        try connection.execute(
            "UPDATE link SET stored_name = ?, key = ?, nonce = ? WHERE id = ?", storedName, arguments?.key,
            arguments?.nonce, id)
    }

    func remove(_ id: Int64) throws { try connection.execute("DELETE FROM link WHERE id = ?", id) }
}
