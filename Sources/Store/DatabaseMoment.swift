import Base
import CSQLite
import Cryptography
import Glibc

/// A consistent snapshot of several databases that other processes write to, as a crash at that moment would have left
/// them all. Writers wait some milliseconds while it is taken, and not at all afterwards.
///
/// Used by one thread. Blocks.
public final class DatabaseMoment {
    /// Readers by database path.
    private var readers: [String: Connection] = [:]

    /// Short, in milliseconds, because a process that waits for one lock may hold another.
    private static let timeout: Int32 = 50
    private static let pauses: ClosedRange<UInt32> = 5_000...50_000

    /// - Parameters:
    ///   - sources: Returns the paths of the existing databases. Called again when all writers are excluded.
    ///   - key: The key of all databases, or nil for plain ones.
    ///   - limit: The maximum time of the attempts while others write.
    ///   - body: Work that belongs to the same moment. Writers are excluded until it returns.
    /// - Throws: The errors of `Database`, including `.busy`; the errors of `sources` and `body`.
    public init(
        of sources: () throws -> [String], key: SecretBytes?, limit: Duration = .seconds(30),
        whileNobodyWrites body: () throws -> Void = {}
    ) throws {
        let end = ContinuousClock.now + limit
        while true {
            do {
                if try take(try sources(), key, sources, body) { return }
            } catch let error as StoreError where error.code == .busy && ContinuousClock.now < end {
                // Release all locks before the next attempt, which prevents a deadlock.
            }
            close()
            usleep(.random(in: Self.pauses))
        }
    }

    deinit { close() }

    private func close() {
        for reader in readers.values { reader.close() }
        readers = [:]
    }

    /// Returns false if the list of databases changed.
    private func take(
        _ paths: [String], _ key: SecretBytes?, _ sources: () throws -> [String], _ body: () throws -> Void
    ) throws -> Bool {
        var writers: [Connection] = []
        // A transaction without changes leaves no trace.
        defer { for writer in writers { writer.close() } }
        for path in paths {
            let writer = try Self.open(path, key)
            writers.append(writer)
            try writer.executeScript("BEGIN IMMEDIATE")
        }
        guard try sources() == paths else { return false }
        for path in paths {
            let reader = try Self.open(path, key)
            readers[path] = reader
            // The first read takes the snapshot.
            try reader.executeScript("PRAGMA temp_store = MEMORY; BEGIN; SELECT 1 FROM sqlite_schema")
        }
        try body()
        return true
    }

    private static func open(_ path: String, _ key: SecretBytes?) throws(StoreError) -> Connection {
        let connection = try Connection(path: path, key: key)
        if key == nil, connection.isSealed { throw StoreError.encrypted }
        sqlite3_busy_timeout(connection.handle, timeout)
        return connection
    }

    public func has(_ source: String) -> Bool { readers[source] != nil }

    /// Copies one of the databases at that moment, once; see `DatabaseCopy`.
    /// - Throws: `.notAllowed` for an unknown or copied database; the errors of `DatabaseCopy.make`.
    public func copy(_ source: String, to target: String, key: SecretBytes?) throws(StoreError) {
        guard let reader = readers.removeValue(forKey: source) else {
            throw StoreError(.notAllowed, "The database is not part of the snapshot.")
        }
        defer { reader.close() }
        try DatabaseCopy.make(from: reader, to: target, key: key)
    }
}
