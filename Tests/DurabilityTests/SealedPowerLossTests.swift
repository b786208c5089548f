import Base
import Cryptography
import Glibc
import Posix
import Store
import TestSupport
import Testing

/// Cuts the power while a sealed database is written, checkpointed and opened. The remaining disk opens as after some
/// transaction, without losing a durable one.
///
/// `CHATFS_SEALED_POWER_LOSS_STATES`: the number of disk states to try.
@Suite struct SealedPowerLossTests {
    @Test func durableTransactionsSurviveAPowerCut() async throws {
        // In its own process, in which SQLite's VFS is a recorder.
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            let cuts = SealedPowerCuts(folder)
            try cuts.record()
            let problems = try cuts.problems(
                states: getenv("CHATFS_SEALED_POWER_LOSS_STATES").flatMap { Int(String(cString: $0)) } ?? 150)
            for problem in problems.prefix(5) { Issue.record(Comment(rawValue: problem)) }
        }
    }
}

private final class SealedPowerCuts {
    private let folder: TemporaryFolder
    private let key = SecretBytes([UInt8](repeating: 9, count: 32))
    private var beginning: [(path: String, file: UInt64, bytes: [UInt8])] = []
    /// The contents after each transaction.
    private var history: [[String]] = [[]]
    private static let notes = Migration(
        "notes", "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT, content BLOB) STRICT")

    init(_ folder: TemporaryFolder) { self.folder = folder }

    private func open(_ path: String, _ durability: Database.Durability = .full) throws -> Database {
        try Database(path: path, migrations: [Self.notes], key: key, durability: durability)
    }

    func record() throws {
        RecordingVFS.register()
        let path = folder.path("notes.db")
        try open(path).close()
        beginning = [("notes.db", RecordingVFS.add(path), try folder.read("notes.db"))]
        let start = RecordingVFS.operations.count
        var random = SeededGenerator(state: 31)
        var databases = [try open(path), try open(path, .eventual)]
        for number in 1...60 {
            let who = Int.random(in: 0..<2, using: &random)
            let texts = try databases[who].transaction { connection in
                for _ in 0..<Int.random(in: 1...5, using: &random) {
                    try connection.execute(
                        "INSERT OR REPLACE INTO note (id, text, content) VALUES (?, ?, zeroblob(?))",
                        Int.random(in: 0..<20, using: &random), "\(number)",
                        Int.random(in: 0..<9000, using: &random))
                }
                return try connection.query("SELECT id, text FROM note ORDER BY id") {
                    "\($0.integer("id")) \($0.text("text"))"
                }
            }
            history.append(texts)
            if who == 0 { RecordingVFS.note(.promise("\(number)")) }
            if number % 9 == 0 { try databases[who].checkpoint() }
            if number % 23 == 0 {
                for database in databases { database.close() }
                databases = [try open(path), try open(path, .eventual)]
            }
        }
        operations = Array(RecordingVFS.operations[start...])
        for database in databases { database.close() }
    }

    private var operations: [DiskOperation] = []

    func problems(states: Int) throws -> [String] {
        var random = SeededGenerator(state: 32)
        var problems: [String] = []
        var model = DiskModel(beginning)
        var durable = 0
        let each = max(1, states / operations.count)
        let every = max(1, operations.count / states)
        for (step, operation) in operations.enumerated() {
            model.perform(operation)
            if case .promise(let number) = operation { durable = Int(number) ?? durable }
            guard step % every == 0 else { continue }
            for _ in 0..<each {
                let state = model.state(.some, using: &random)
                if let problem = try problem(of: state, durable: durable) {
                    problems.append("step \(step): \(problem)")
                }
            }
        }
        return problems
    }

    private func problem(of state: [String: [UInt8]], durable: Int) throws -> String? {
        for suffix in ["", "-wal", "-shm"] { unlink(folder.path("cut.db" + suffix)) }
        for (name, bytes) in state where !name.hasSuffix("-shm") {
            try folder.write(bytes, to: name.replacing("notes.db", with: "cut.db"))
        }
        do {
            let database = try open(folder.path("cut.db"))
            let found = try database.read { connection in
                try connection.query("SELECT id, text FROM note ORDER BY id") {
                    "\($0.integer("id")) \($0.text("text"))"
                }
            }
            let integrity = try database.read {
                try $0.query("PRAGMA integrity_check") { $0.text("integrity_check") }
            }
            guard integrity == ["ok"] else { return "\(integrity)" }
            guard let last = history.lastIndex(of: found) else { return "it holds what it never held" }
            return last < durable ? "\(durable) was durable, \(last) is there" : nil
        } catch {
            return "\(error)"
        }
    }
}
