/// One step of a schema. Steps are numbered by their place in the list, from 1; a step that has been
/// released is never changed, new ones are added at the end.
public struct Migration: Sendable {
    /// Kept in the version table, to tell two histories apart.
    public let name: String
    /// SQL statements separated by semicolons.
    public let script: String
    /// Whether it drops what was stored, so that nobody can go back to where it was: a copy is made first.
    public let isFinal: Bool

    public init(_ name: String, _ script: String, isFinal: Bool = false) {
        self.name = name
        self.script = script
        self.isFinal = isFinal
    }
}

/// Whether a database of an earlier version may be changed in a way that cannot be undone.
public enum MigrationConsent: Sendable {
    case given, missing
}

extension Connection {
    /// The last of the steps before it that cannot be undone; nil in a new database, and where there is none.
    func nextFinal(of migrations: [Migration]) throws -> Migration? {
        guard try exists("SELECT 1 FROM sqlite_schema WHERE name = 'schema_version'") else { return nil }
        let applied =
            try first("SELECT count(*) AS count FROM schema_version") { Int($0.integer("count")) } ?? 0
        return applied == 0 ? nil : migrations.dropFirst(applied).last(where: \.isFinal)
    }

    /// Brings the schema to the last of `migrations`. Inside a transaction.
    func migrate(through migrations: [Migration]) throws {
        try executeScript(
            """
            CREATE TABLE IF NOT EXISTS schema_version (
                number INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT
            """)
        let applied = try query("SELECT name FROM schema_version ORDER BY number") { $0.text("name") }
        guard applied.count <= migrations.count else {
            throw StoreError(
                .wrongVersion, "The data was written by a newer version of ChatFS: update ChatFS.")
        }
        guard applied == migrations.prefix(applied.count).map(\.name) else {
            throw StoreError(
                .wrongVersion, "The data was written by another version of ChatFS: use that version.")
        }
        for (index, migration) in migrations.enumerated().dropFirst(applied.count) {
            try executeScript(migration.script)
            try execute(
                "INSERT INTO schema_version (number, name) VALUES (?, ?)", index + 1, migration.name)
        }
    }
}
