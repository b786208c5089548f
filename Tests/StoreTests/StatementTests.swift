import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Store

@Suite("Statements and their values")
struct StatementTests {
    private let folder = ScratchFolder()

    @Test(
        "invalid statements change nothing"
    )
    func mistakes() throws {
        let database = try folder.database()
        let wrong: [(Connection) throws -> Void] = [
            { _ = try $0.execute("INSERT INTO folder (name) VALUES (?)") },
            { _ = try $0.execute("INSERT INTO folder (name) VALUES (?)", "a", "b") },
            { _ = try $0.execute("INSERT INTO folder (name) VALUES ('x')", 1) },
            { _ = try $0.execute("") }, { _ = try $0.execute("-- nothing") },
            { _ = try $0.execute("SELECT FROM WHERE") },
            { _ = try $0.execute("INSERT INTO nobody VALUES (1)") },
            { try $0.executeScript("SELECT 1; NONSENSE") },
            { _ = try $0.exists("SELECT ?") }, { _ = try $0.query("SELECT ?", 1, 2) { _ in 0 } },
            { _ = try $0.first("SELECT nothing FROM folder") { _ in 0 } },
        ]
        for (index, body) in wrong.enumerated() {
            let error = #expect(throws: StoreError.self, "\(index)") {
                try database.transaction { (connection) throws -> Void in
                    try connection.execute("INSERT INTO folder (name) VALUES ('before')")
                    try body(connection)
                }
            }
            #expect(error?.code == .invalidStatement, "\(index)")
        }
        #expect(try database.count("folder") == 0)
    }

    @Test("an error in a row closure ends the query")
    func rowErrors() throws {
        struct Enough: Error {}
        let database = try folder.database()
        try database.transaction { (connection) throws -> Void in
            for name in ["a", "b", "c"] {
                try connection.execute("INSERT INTO folder (name) VALUES (?)", name)
            }
        }
        try database.read { (connection) throws -> Void in
            for _ in 0..<3 {
                var seen = 0
                #expect(throws: Enough.self) {
                    try connection.query("SELECT name FROM folder ORDER BY id") { row in
                        seen += 1
                        if row.text("name") == "b" { throw Enough() }
                    }
                }
                #expect(seen == 2)
                #expect(
                    try connection.query("SELECT name FROM folder ORDER BY id") { $0.text("name") } == [
                        "a", "b", "c",
                    ])
            }
        }
    }

    @Test("bindings are cleared after use")
    func bindings() throws {
        let database = try folder.database()
        try database.transaction { (connection) throws -> Void in
            try connection.execute("INSERT INTO folder (id, name) VALUES (1, 'a')")
            let sql = "INSERT INTO note (folder, text, content, size, weight) VALUES (1, ?, ?, ?, ?)"
            try connection.execute(sql, "text", [1, 2] as [UInt8], 7, 0.5)
            try connection.execute(sql, nil, nil, nil, nil)
            #expect(connection.lastInsertedID == 2)
        }
        try database.read { (connection) throws -> Void in
            let isEmpty = try connection.query(
                "SELECT text, content, size, weight FROM note ORDER BY id"
            ) { row in
                [row.isNull("text"), row.isNull("content"), row.isNull("size"), row.isNull("weight")]
            }
            #expect(isEmpty == [[false, false, false, false], [true, true, true, true]])
        }
    }

    @Test("changed rows are counted per statement and in total")
    func changes() throws {
        let database = try folder.database()
        try database.transaction { (connection) throws -> Void in
            let before = connection.changedRowCount
            for name in ["a", "b", "c"] {
                #expect(try connection.execute("INSERT INTO folder (name) VALUES (?)", name) == 1)
            }
            #expect(try connection.execute("UPDATE folder SET name = name || 'x' WHERE name <> 'a'") == 2)
            #expect(try connection.execute("UPDATE folder SET name = 'y' WHERE name = 'nobody'") == 0)
            #expect(try connection.execute("DELETE FROM folder WHERE name = 'a'") == 1)
            #expect(connection.changedRowCount - before == 6)
        }
    }

    @Test("more statements than the cache holds work")
    func manyTexts() throws {
        let database = try folder.database()
        try database.transaction { (connection) throws -> Void in
            for round in 0..<2 {
                for number in 0..<300 {
                    let found = try connection.first("SELECT ? + \(number) AS sum", round) {
                        $0.integer("sum")
                    }
                    #expect(found == Int64(round + number))
                }
            }
        }
    }

    @Test("values of other types are converted")
    func conversions() throws {
        let database = try folder.database()
        try database.read { (connection) throws -> Void in
            let text = try connection.first("SELECT 42 AS a, 2.5 AS b, x'6869' AS c, NULL AS d, '7' AS e") {
                row in
                "\(row.text("a"))|\(row.text("b"))|\(row.text("c"))|\(row.text("d"))|\(row.integer("e"))"
            }
            #expect(text == "42|2.5|hi||7")
            let numbers = try connection.first("SELECT 'text' AS a, NULL AS b, '9e2' AS c, x'' AS d, 1 AS e")
            { row in
                [
                    row.integer("a"), row.integer("b"), Int64(row.real("c")), row.integer("d"),
                    row.bool("e") ? 1 : 0,
                ]
            }
            #expect(numbers == [0, 0, 900, 0, 1])
            // Invalid UTF-8, which SQLite never writes but a damaged page may hold.
            let broken = try connection.first("SELECT CAST(x'61FF62' AS TEXT) AS a") { $0.text("a") }
            #expect(broken == "a\u{FFFD}b")
            #expect(try connection.first("SELECT 1 AS a WHERE 0") { $0.integer("a") } == nil)
        }
    }

    @Test("extreme numbers and times round-trip")
    func ends() throws {
        let database = try folder.database()
        try database.read { (connection) throws -> Void in
            for number in [Int64.min, -1, 0, 1, .max] {
                #expect(try connection.first("SELECT ? AS a", number) { $0.integer("a") } == number)
            }
            for number in [UInt64.min, 1 << 63, .max] {
                #expect(try connection.first("SELECT ? AS a", number) { $0.unsigned("a") } == number)
            }
            for time in [Int64.min, -1, 0, .max].map({ Timestamp(nanoseconds: $0) }) {
                #expect(try connection.first("SELECT ? AS a", time) { $0.timestamp("a") } == time)
            }
            for number in [-Double.greatestFiniteMagnitude, -0.0, .leastNonzeroMagnitude, .infinity] {
                #expect(try connection.first("SELECT ? AS a", number) { $0.real("a") } == number)
            }
            #expect(try connection.first("SELECT ? AS a", Double.nan) { $0.isNull("a") } == true)
            #expect(try connection.first("SELECT ? AS a", UInt32.max) { $0.integer("a") } == 4_294_967_295)
        }
    }

    @Test("close waits for the transaction, then calls fail")
    func closed() throws {
        let database = try folder.database()
        database.close()
        for body in [
            { try database.transaction { _ in } }, { try database.durableTransaction { _ in } },
            { try database.read { _ in } }, { try database.commitOverUnfinished() },
            { try database.checkpoint() },
        ] as [() throws -> Void] {
            let error = #expect(throws: StoreError.self) { try body() }
            #expect(error?.code == .notAllowed)
        }
        #expect(!database.isInTransaction)
    }
}
