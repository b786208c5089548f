import Base
import Store
import Testing

@Suite struct NamedColumnTests {
    let folder = ScratchFolder()

    private enum Colour: String, SQLBindable, CaseIterable {
        case red
        case darkBlue = "dark_blue"
    }

    private func filled() throws -> Database {
        let database = try folder.database()
        try database.transaction { connection in
            try connection.execute("INSERT INTO folder (id, name) VALUES (1, 'a'), (2, 'b')")
            try connection.execute(
                "INSERT INTO note (id, folder, text, content, size, weight) VALUES (7, 2, ?, ?, ?, ?)",
                "text", [1, 2] as [UInt8], UInt64.max, 2.5)
            try connection.execute("INSERT INTO note (id, folder) VALUES (8, 1)")
        }
        return database
    }

    @Test func valuesAreReadByColumnName() throws {
        let database = try filled()
        try database.read { connection in
            // In another order than selected, and twice.
            let numbers = try connection.first("SELECT size, weight, id FROM note WHERE id = 7") { row in
                (
                    row.integer("id"), row.real("weight"), row.unsigned("size"), row.unsignedOrNil("size"),
                    row.integerOrNil("id"), row.bool("id"), row.timestamp("id")
                )
            }
            #expect(try #require(numbers).0 == 7)
            #expect(numbers?.1 == 2.5)
            #expect(numbers?.2 == .max)
            #expect(numbers?.3 == .max)
            #expect(numbers?.4 == 7)
            #expect(numbers?.5 == true)
            #expect(numbers?.6 == Timestamp(nanoseconds: 7))
            let words = try connection.first("SELECT text, content FROM note WHERE id = 7") { row in
                (row.bytes("content"), row.bytesOrNil("content"), row.text("text"), row.textOrNil("text"))
            }
            #expect(try #require(words).0 == [1, 2])
            #expect(words?.1 == [1, 2])
            #expect(words?.2 == "text")
            #expect(words?.3 == "text")
            let empty = try connection.first(
                "SELECT text, content, size, weight FROM note WHERE id = 8"
            ) { row in
                [
                    row.isNull("weight"), row.textOrNil("text") == nil, row.bytesOrNil("content") == nil,
                    row.timestampOrNil("size") == nil, row.text("text") == "", row.integer("size") == 0,
                ]
            }
            #expect(empty == Array(repeating: true, count: 6))
        }
    }

    @Test func aliasesDistinguishColumnsOfTwoTables() throws {
        let database = try filled()
        let sql = """
            SELECT n.id, f.id AS folder_id, f.name FROM note n JOIN folder f ON f.id = n.folder ORDER BY n.id
            """
        try database.read { connection in
            for _ in 0..<3 {
                let numbers = try connection.query(sql) { ($0.integer("id"), $0.integer("folder_id")) }
                #expect(numbers.map(\.0) == [7, 8])
                #expect(numbers.map(\.1) == [2, 1])
                #expect(try connection.query(sql) { $0.text("name") } == ["b", "a"])
            }
        }
    }

    /// More columns than the initial table of positions.
    @Test func manyColumnsAreDistinguished() throws {
        let database = try folder.database()
        let names = (0..<40).map { "c\($0)" }
        let sql = "SELECT " + (0..<40).map { "\($0) AS c\($0)" }.joined(separator: ", ")
        #expect(names.count == 40)
        try database.read { connection in
            for _ in 0..<2 {
                let sum = try connection.first(sql) { row in
                    row.integer("c0") + row.integer("c1") * 2 + row.integer("c2") + row.integer("c3")
                        + row.integer("c4") + row.integer("c5") + row.integer("c6") + row.integer("c7")
                        + row.integer("c8") + row.integer("c9") + row.integer("c10") + row.integer("c11")
                        + row.integer("c12") + row.integer("c13") + row.integer("c14") + row.integer("c15")
                        + row.integer("c16") + row.integer("c17") + row.integer("c18") + row.integer("c19")
                        + row.integer("c39")
                }
                #expect(sum == Int64(230))
            }
        }
    }

    @Test func unknownEnumerationWordsAreDamage() throws {
        let database = try filled()
        try database.transaction { connection in
            for colour in Colour.allCases {
                try connection.execute("UPDATE note SET text = ? WHERE id = 7", colour)
                let found = try connection.first("SELECT text FROM note WHERE id = 7") {
                    try $0.value("text", as: Colour.self)
                }
                #expect(found == colour)
            }
            let none = try connection.first("SELECT text FROM note WHERE id = 8") {
                try $0.valueOrNil("text", as: Colour.self)
            }
            #expect(none == .some(nil))
            for word in ["", "Red", "dark blue", "red\0"] {
                try connection.execute("UPDATE note SET text = ? WHERE id = 7", word)
                let error = #expect(throws: StoreError.self) {
                    try connection.first("SELECT text FROM note WHERE id = 7") {
                        try $0.value("text", as: Colour.self)
                    }
                }
                #expect(error?.code == .damaged)
                #expect(error?.sentence.contains("'text'") == true)
                // The value itself stays out of the message.
                if !word.isEmpty { #expect(error?.sentence.contains(word) == false) }
            }
            // The statement can run again after an error in a row.
            try connection.execute("UPDATE note SET text = ? WHERE id = 7", Colour.red)
            #expect(
                try connection.first("SELECT text FROM note WHERE id = 7") {
                    try $0.value("text", as: Colour.self)
                } == .red)
        }
    }
}
