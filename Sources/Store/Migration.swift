/// One step of a schema, numbered by its place in the list from 1. Released steps never change; new ones are appended.
public struct Migration: Sendable {
    /// Stored in the version table, to distinguish different histories.
    public let name: String
    /// SQL statements separated by semicolons.
    public let script: String
    /// Whether the step deletes stored data, so that it cannot be undone. A copy is made first.
    public let isFinal: Bool
    /// The steps before the first release that left the schema of this first step.
    public let replaces: DevelopmentSchema?

    public init(
        _ name: String, _ script: String, isFinal: Bool = false, replaces: DevelopmentSchema? = nil
    ) {
        self.name = name
        self.script = script
        self.isFinal = isFinal
        self.replaces = replaces
    }
}

/// The version table that the last program before the first release left.
public struct DevelopmentSchema: Sendable {
    /// The number of steps.
    public let steps: Int
    /// The name of the last step.
    public let last: String

    public init(steps: Int, last: String) {
        self.steps = steps
        self.last = last
    }
}

/// The consent to irreversible changes of an older database.
public enum MigrationConsent: Sendable {
    case given, missing
}

extension Connection {
    /// Records the first step in place of the steps before the first release. Call inside a transaction, first.
    func adoptDevelopmentSchema(in migrations: [Migration]) throws {
        guard let first = migrations.first, let steps = first.replaces,
            try exists("SELECT 1 FROM sqlite_schema WHERE name = 'schema_version'"),
            try appliedSteps().count == steps.steps, try appliedSteps().last == steps.last
        else { return }
        try executeScript("DELETE FROM schema_version")
        try record(1, first)
    }

    private func appliedSteps() throws -> [String] {
        try query("SELECT name FROM schema_version ORDER BY number") { $0.text("name") }
    }

    private func record(_ number: Int, _ migration: Migration) throws {
        try execute("INSERT INTO schema_version (number, name) VALUES (?, ?)", number, migration.name)
    }

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
        let applied = try appliedSteps()
        guard zip(applied, migrations).allSatisfy({ $0 == $1.name }) else {
            throw StoreError(
                .wrongVersion, "The data was written by another version of ChatFS; use that version.")
        }
        guard applied.count <= migrations.count else {
            throw StoreError(
                .wrongVersion, "The data was written by a newer version of ChatFS; update ChatFS.")
        }
        for (index, migration) in migrations.enumerated().dropFirst(applied.count) {
            try executeScript(migration.script)
            try record(index + 1, migration)
        }
    }
}
