import Base
import Namespace

@testable import Outbox
@testable import Store

/// A table whose rows come from inputs.
struct FuzzedTable: Sendable {
    private let columns: Int
    /// One statement for all rows: preparing it takes longer than the rest. Texts need not be UTF-8, so they come as
    /// bytes after a flag.
    private let statement: String

    /// - Parameter fixed: Constant values, so that rows belong together.
    init(_ table: String, _ columns: [String], fixed: [String: Int64] = [:]) {
        self.columns = columns.count
        let names = (columns + fixed.keys).joined(separator: ", ")
        let values =
            columns.indices.map {
                "CASE WHEN ?\($0 * 2 + 1) THEN CAST(?\($0 * 2 + 2) AS TEXT) ELSE ?\($0 * 2 + 2) END"
            } + fixed.values.map { "\($0)" }
        statement = "INSERT INTO \(table) (\(names)) VALUES (\(values.joined(separator: ", ")))"
    }

    /// Inserts a row if the types of the columns permit it: a value of any kind for each column, including meaningful
    /// words.
    func insert(_ bytes: [UInt8], _ connection: Connection) -> Bool {
        var input = Input(bytes)
        var values: [(any SQLBindable)?] = []
        values.reserveCapacity(columns * 2)
        for _ in 0..<columns {
            let (isText, value) = Self.value(&input)
            values.append(isText)
            values.append(value)
        }
        return (try? connection.execute(statement, with: values)) != nil
    }

    private static let words = [
        "@1", "#2", "*3", "#3(_support)", "sent", "received", "open", "closed", "queued", "failed", "unsure",
        "recovered", "file", "image", "video", "voice", "video 12", "xftp", "local", "rcvTransfer",
        "rcvError", "sndError", "rcvAborted", "snd_transfer", "rcv_error", "rcv_aborted", "expired", "1",
    ]

    private static func value(_ input: inout Input) -> (isText: Bool, (any SQLBindable)?) {
        switch input.number(below: 6) {
        case 0: (false, nil)
        case 1: (false, Int64(Int8(bitPattern: input.byte())))
        case 2: (false, input.integer())
        case 3: (true, words[input.number(below: words.count)])
        case 4: (true, input.some())
        default: (false, input.some())
        }
    }
}

extension Database {
    /// For a process that uses it alone and writes rows that no version of the program would.
    func takeOver() throws {
        try transaction { connection in
            // No locks and no shared memory.
            try connection.executeScript(
                "PRAGMA locking_mode = EXCLUSIVE; PRAGMA ignore_check_constraints = ON")
        }
    }
}

/// A database with a module's schema, emptied after each input.
final class IndexFixture: Sendable {
    private struct TakenBack: Error {}

    private let database: Database

    init(_ name: String, _ migrations: [Migration], rows: String = "") {
        do {
            database = try Database(
                path: Scratch.newPath(name), migrations: migrations, durability: .eventual)
            try database.transaction { try $0.executeScript(rows) }
            try database.takeOver()
        } catch {
            fatalError("the fixture cannot be made: \(error)")
        }
    }

    /// Runs `body` with a row in its table, if it could be inserted.
    func with(_ row: [UInt8], in table: FuzzedTable, _ body: (Connection) throws -> Void) {
        do {
            try database.transaction { connection in
                if table.insert(row, connection) { try body(connection) }
                throw TakenBack()
            }
        } catch {
            let isDamage =
                (error as? StoreError)?.code == .damaged || (error as? NamespaceError)?.code == .damaged
            hold(error is TakenBack || isDamage, "rows are read, or damage: \(error)")
        }
    }
}

/// A journal with one row.
final class JournalFixture: Sendable {
    private let journal: Journal

    init() {
        do {
            journal = try Journal(path: Scratch.newPath("journal"), random: SystemRandomSource())
            try journal.database.takeOver()
        } catch {
            fatalError("the fixture cannot be made: \(error)")
        }
    }

    func with(_ row: [UInt8], in table: FuzzedTable, _ body: (Journal) -> Void) {
        let isThere = try? journal.database.transaction { connection in
            try connection.execute("DELETE FROM draft")
            return table.insert(row, connection)
        }
        if isThere == true { body(journal) }
    }
}
