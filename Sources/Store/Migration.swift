/// One step of a schema. Steps are numbered by their place in the list, from 1; a step that has been
/// released is never changed, new ones are added at the end.
public struct Migration: Sendable {
    /// Kept in the version table, to tell two histories apart.
    public let name: String
    /// SQL statements separated by semicolons.
    public let script: String

    public init(_ name: String, _ script: String) {
        self.name = name
        self.script = script
    }
}

extension Connection {
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
