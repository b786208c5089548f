import Base
import Cryptography
import Glibc
import Posix
import Testing

@testable import Store

@Suite("Snapshots of several databases")
struct DatabaseMomentTests {
    private let folder = ScratchFolder()
    private static let names = ["a", "b", "c"]
    private static let schema = Migration("count", "CREATE TABLE count (number INTEGER NOT NULL) STRICT")

    private func path(_ name: String) -> String { "\(folder.path)/\(name).db" }

    private func made(_ names: [String], key: SecretBytes?) throws -> [Database] {
        try names.map { name in
            let database = try Database(path: path(name), migrations: [Self.schema], key: key)
            try database.transaction { _ = try $0.execute("INSERT INTO count (number) VALUES (0)") }
            return database
        }
    }

    private static func add(_ connection: Connection) throws {
        try connection.execute("UPDATE count SET number = number + 1")
    }

    private func number(_ path: String, key: SecretBytes?) throws -> Int64 {
        let database = try Database(path: path, migrations: [Self.schema], key: key)
        defer { database.close() }
        return try database.read { try $0.first("SELECT number FROM count") { $0.integer("number") } } ?? -1
    }

    @Test(
        "the snapshot respects the order of writes",
        arguments: [true, false])
    func order(isSealed: Bool) async throws {
        let key = isSealed ? SecretBytes(randomCount: 32) : nil
        let databases = try made(Self.names, key: key)
        let isOver = Lock(false)
        async let written: Void = ThreadPool.shared.run {
            while !isOver.withLock({ $0 }) {
                for database in databases { try database.transaction(Self.add) }
            }
        }
        for round in 0..<20 {
            let moment = try DatabaseMoment(of: { Self.names.map(path) }, key: key)
            var numbers: [Int64] = []
            for name in Self.names {
                try moment.copy(path(name), to: path("\(name)-\(round)"), key: nil)
                numbers.append(try number(path("\(name)-\(round)"), key: nil))
            }
            #expect(numbers == numbers.sorted(by: >) && numbers[0] - numbers[2] <= 1, "\(numbers)")
        }
        isOver.withLock { $0 = true }
        try await written
        for database in databases { database.close() }
    }

    @Test("later writes are neither delayed nor included")
    func afterwards() throws {
        let databases = try made(Self.names, key: nil)
        var held = 0
        let paths = { Self.names.map(path) }
        let moment = try DatabaseMoment(of: paths, key: nil) {
            held += 1
            let error = #expect(throws: StoreError.self) {
                try Database(path: path("a"), migrations: [Self.schema], busyTimeout: .zero)
                    .transaction(Self.add)
            }
            #expect(error?.code == .busy)
        }
        #expect(held == 1)
        for database in databases { try database.transaction(Self.add) }
        for name in Self.names {
            try moment.copy(path(name), to: path(name + "-copy"), key: nil)
            #expect(try number(path(name + "-copy"), key: nil) == 0)
            #expect(try number(path(name), key: nil) == 1)
        }
        let error = #expect(throws: StoreError.self) { try moment.copy(path("a"), to: path("x"), key: nil) }
        #expect(error?.code == .notAllowed && access(path("x"), F_OK) != 0)
    }

    @Test("a database created meanwhile is included")
    func another() throws {
        let key = SecretBytes(randomCount: 32)
        _ = try made(["a"], key: key)
        var asked = 0
        let moment = try DatabaseMoment(
            of: {
                asked += 1
                if asked == 2 { _ = try made(["b"], key: key) }
                return Self.names.map(path).filter { access($0, F_OK) == 0 }
            }, key: key)
        #expect(moment.has(path("a")) && moment.has(path("b")) && !moment.has(path("c")))
    }

    @Test("endless write locks and wrong keys are errors")
    func obstacles() throws {
        let databases = try made(Self.names, key: nil)
        func code(_ key: SecretBytes?) -> StoreError.Code? {
            do {
                _ = try DatabaseMoment(of: { Self.names.map(path) }, key: key, limit: .milliseconds(10))
                return nil
            } catch {
                return (error as? StoreError)?.code
            }
        }
        try databases[1].transaction { _ in #expect(code(nil) == .busy) }
        #expect(code(nil) == nil)
        #expect(code(SecretBytes(randomCount: 32)) == .notEncrypted)
        // Failed attempts hold no locks.
        for database in databases { try database.transaction(Self.add) }
    }
}
