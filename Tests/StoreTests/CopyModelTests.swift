import Base
import Cryptography
import Posix
import TestSupport
import Testing

@testable import Store

/// Databases with random tables and rows, copied from key to key and back.
@Suite("Complete copies of databases")
struct CopyModelTests {
    private static let names = [
        "plain", "with space", "quo\"te", "select", "é", "e\u{301}", "x'y", "sqlite", "tab\tle",
    ]

    private static func quoted(_ name: String) -> String { "\"" + name.replacing("\"", with: "\"\"") + "\"" }

    private static func fill(_ database: Database, _ random: inout SeededGenerator) throws {
        let tables = names.shuffled(using: &random).prefix(Int.random(in: 1...5, using: &random))
        let columns = Array(names.shuffled(using: &random).prefix(Int.random(in: 1...4, using: &random)))
        let rows = (0..<Int.random(in: 0...60, using: &random)).map { _ in
            columns.map { _ in value(&random) }
        }
        try database.transaction { connection in
            for (index, table) in tables.enumerated() {
                let key = ["", ", PRIMARY KEY (\(quoted(columns[0])))"][index % 2]
                let list = columns.map(quoted).joined(separator: ", ")
                try connection.executeScript("CREATE TABLE \(quoted(table)) (\(list)\(key))")
                try connection.executeScript(
                    "CREATE INDEX \(quoted("by " + table)) ON \(quoted(table)) (\(quoted(columns[0])))")
                let marks = columns.map { _ in "?" }.joined(separator: ", ")
                for row in rows {
                    try connection.execute(
                        "INSERT OR IGNORE INTO \(quoted(table)) (\(list)) VALUES (\(marks))", with: row)
                }
                try connection.executeScript("DELETE FROM \(quoted(table)) WHERE rowid % 7 = 3")
            }
        }
    }

    private static func value(_ random: inout SeededGenerator) -> SQLValue {
        switch Int.random(in: 0..<6, using: &random) {
        case 0: .null
        case 1: .integer(.random(in: .min ... .max, using: &random))
        case 2: .real(.random(in: -1e9...1e9, using: &random))
        case 3: .text(String(repeating: "é\u{0}", count: Int.random(in: 0...30, using: &random)))
        case 4: .blob([UInt8](repeating: 7, count: Int.random(in: 0...6000, using: &random)))
        default: .integer(.random(in: 0...9, using: &random))
        }
    }

    /// Returns the whole content as text.
    private static func content(_ path: String, _ key: SecretBytes?) throws -> [String] {
        let database = try Database(path: path, migrations: [], key: key)
        defer { database.close() }
        return try database.read { connection in
            let tables = try connection.query(
                "SELECT name, type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '') AS line "
                    + "FROM sqlite_schema ORDER BY type, name"
            ) { ($0.text("name"), $0.text("line")) }
            var lines = tables.map(\.1)
            for (table, line) in tables where line.hasPrefix("table ") {
                let columns = try connection.query("SELECT name FROM pragma_table_info(?)", table) {
                    quoted($0.text("name"))
                }
                let list = columns.map { "quote(\($0)) || typeof(\($0))" }.joined(separator: " || ',' || ")
                lines += try connection.query("SELECT \(list) AS line FROM \(quoted(table)) ORDER BY 1") {
                    table + ": " + $0.text("line")
                }
            }
            return lines
        }
    }

    @Test("plain to sealed, to another key, and back", arguments: 0..<12 as Range<UInt64>)
    func roundTrip(seed: UInt64) throws {
        var random = SeededGenerator(state: seed + 1)
        let folder = try TemporaryFolder()
        let keys: [SecretBytes?] = [nil, SecretBytes(randomCount: 32), SecretBytes(randomCount: 32), nil]
        let first = try Database(path: folder.path("0.db"), migrations: [])
        try Self.fill(first, &random)
        first.close()
        let expected = try Self.content(folder.path("0.db"), nil)
        for step in 1..<keys.count {
            try DatabaseCopy.make(
                from: folder.path("\(step - 1).db"), key: keys[step - 1], to: folder.path("\(step).db"),
                key: keys[step])
            #expect(try Self.content(folder.path("\(step).db"), keys[step]) == expected, "step \(step)")
            #expect(try DatabaseCheck.problems(path: folder.path("\(step).db"), key: keys[step]) == [])
        }
        // The source is unchanged.
        #expect(try Self.content(folder.path("0.db"), nil) == expected)
    }
}
