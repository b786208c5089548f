import Posix
import Store

/// A database as the last program before the first release left it, from `Tests/Databases`.
public enum DevelopmentDatabase {
    /// Creates it at a path.
    /// - Parameters:
    ///   - name: of the file with its statements, without `.sql`.
    ///   - rows: Statements that insert rows.
    public static func make(_ name: String, at path: String, rows: String = "") throws {
        let folder = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
        let script = try OpenFile("/\(folder)/Databases/\(name).sql", flags: 0).readAll(limit: 1 << 20)
        let database = try Database(path: path, migrations: [])
        try database.transaction { connection in
            try connection.executeScript(String(decoding: script, as: UTF8.self))
            try connection.executeScript(rows)
        }
        database.close()
    }

    /// The recorded steps, and the statements of all tables and indexes without white space and quotes.
    public static func schema(of database: Database) throws -> [String] {
        try database.read { connection in
            let steps = try connection.query("SELECT name FROM schema_version ORDER BY number") {
                $0.text("name")
            }
            let statements = try connection.query("SELECT name, sql FROM sqlite_schema ORDER BY name") {
                $0.text("name") + $0.text("sql").filter { !$0.isWhitespace && $0 != "\"" }
            }
            return steps + statements
        }
    }
}
