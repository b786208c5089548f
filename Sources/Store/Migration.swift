/// One step of a schema, numbered by its place in the list from 1. Released steps never change; new ones are appended.
public struct Migration: Sendable {
    /// Stored in the version table, to distinguish different histories.
    public let name: String
    /// SQL statements separated by semicolons.
    public let script: String
    /// Whether the step deletes stored data, so that it cannot be undone. A copy is made first.
    public let isFinal: Bool

    public init(_ name: String, _ script: String, isFinal: Bool = false) {
        self.name = name
        self.script = script
        self.isFinal = isFinal
    }
}

/// The consent to irreversible changes of an older database.
public enum MigrationConsent: Sendable {
    case given, missing
}

extension Connection {
    /// Returns the last pending irreversible step, or nil if there is none or the database is new.
    func nextFinal(of migrations: [Migration]) throws -> Migration? {
        guard try exists("SELECT 1 FROM sqlite_schema WHERE name = 'schema_version'") else { return nil }
        let applied =
            try first("SELECT count(*) AS count FROM schema_version") { Int($0.integer("count")) } ?? 0
        return applied == 0 ? nil : migrations.dropFirst(applied).last(where: \.isFinal)
    }

    /// Applies all pending migrations. Call inside a transaction.
    func migrate(through migrations: [Migration]) throws {
        try executeScript(
            """
            CREATE TABLE IF NOT EXISTS schema_version (
                number INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT
            """)
        let applied = try query("SELECT name FROM schema_version ORDER BY number") { $0.text("name") }
        guard applied.count <= migrations.count else {
            throw StoreError(
                .wrongVersion, "The data was written by a newer version of ChatFS; update ChatFS.")
        }
        guard applied == migrations.prefix(applied.count).map(\.name) else {
            throw StoreError(
                .wrongVersion, "The data was written by another version of ChatFS; use that version.")
        }
        for (index, migration) in migrations.enumerated().dropFirst(applied.count) {
            try executeScript(migration.script)
            try execute(
                "INSERT INTO schema_version (number, name) VALUES (?, ?)", index + 1, migration.name)
        }
    }
}
