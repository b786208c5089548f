import Base
import Namespace
import Store

@testable import Outbox

/// A row as an input says it: a value of any kind for each column, words that mean something among them.
struct FuzzedRow {
    private let statement: String

    /// - Parameter fixed: values that stay, so that rows belong to each other.
    init(of table: String, _ columns: [String], _ bytes: [UInt8], fixed: [String: Int64] = [:]) {
        var input = Input(bytes)
        let values = columns.map { _ in Self.value(&input) } + fixed.values.map { "\($0)" }
        let names = columns + fixed.keys
        statement =
            "INSERT INTO \(table) (\(names.joined(separator: ", "))) VALUES (\(values.joined(separator: ", ")))"
    }

    /// Puts it into its table, where the types of the columns allow it.
    func insert(_ connection: Connection) -> Bool { (try? connection.executeScript(statement)) != nil }

    private static let words = [
        "@1", "#2", "*3", "#3(_support)", "sent", "received", "open", "closed", "queued", "failed", "unsure",
        "recovered", "file", "image", "video", "voice", "video 12", "xftp", "local", "rcvTransfer",
        "rcvError", "sndError", "rcvAborted", "snd_transfer", "rcv_error", "rcv_aborted", "expired", "1",
    ]

    /// Texts need not be UTF-8.
    private static func value(_ input: inout Input) -> String {
        switch input.number(below: 6) {
        case 0: "NULL"
        case 1: "\(Int8(bitPattern: input.byte()))"
        case 2: "\(input.integer())"
        case 3: "'\(words[input.number(below: words.count)])'"
        case 4: "CAST(X'\(Hexadecimal.encode(input.some()))' AS TEXT)"
        default: "X'\(Hexadecimal.encode(input.some()))'"
        }
    }
}

/// A database with the schema of a module, in which nothing stays.
final class IndexFixture: Sendable {
    private struct TakenBack: Error {}

    private let database: Database

    init(_ name: String, _ migrations: [Migration], rows: String = "") {
        do {
            database = try Database(
                path: Scratch.newPath(name), migrations: migrations, durability: .eventual)
            try database.transaction { try $0.executeScript(rows) }
        } catch {
            fatalError("the fixture cannot be made: \(error)")
        }
    }

    /// Runs `body` with a row in its table, if it could be put there.
    func with(_ row: FuzzedRow, _ body: (Connection) throws -> Void) {
        do {
            try database.transaction { connection in
                try connection.executeScript("PRAGMA ignore_check_constraints = ON")
                if row.insert(connection) { try body(connection) }
                throw TakenBack()
            }
        } catch {
            let isDamage =
                (error as? StoreError)?.code == .damaged || (error as? NamespaceError)?.code == .damaged
            hold(error is TakenBack || isDamage, "rows are read, or damage: \(error)")
        }
    }
}

/// A journal and a second door to its rows.
final class JournalFixture: Sendable {
    private let journal: Journal
    private let rows: Database

    init() {
        do {
            let path = Scratch.newPath("journal")
            journal = try Journal(path: path, random: SystemRandomSource())
            rows = try Database(path: path, migrations: Journal.migrations, durability: .eventual)
        } catch {
            fatalError("the fixture cannot be made: \(error)")
        }
    }

    func with(_ row: FuzzedRow, _ body: (Journal) -> Void) {
        let isThere = try? rows.transaction { connection in
            try connection.executeScript("PRAGMA ignore_check_constraints = ON; DELETE FROM draft")
            return row.insert(connection)
        }
        if isThere == true { body(journal) }
    }
}
