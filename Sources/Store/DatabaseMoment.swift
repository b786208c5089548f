import Base
import CSQLite
import Cryptography
import Glibc

/// One moment of several databases that other processes write to: each is read as it was then, however long that takes.
/// All are as a kill of everybody at that moment would have left them, and not each at a moment of its own. Who writes
/// waits for some milliseconds while it is taken, and for nothing afterwards.
///
/// One thread. Blocks.
public final class DatabaseMoment {
    /// By the paths of the databases.
    private var readers: [String: Connection] = [:]

    /// Short: who waits for one of them may have another.
    private static let timeout: Int32 = 50
    private static let pauses: ClosedRange<UInt32> = 5_000...50_000

    /// - Parameters:
    ///   - sources: the paths of the databases, all of which exist. Asked again when nobody can write any more.
    ///   - key: of all of them; nil: they are in clear.
    ///   - limit: how long it is tried while others write.
    ///   - body: what belongs to the same moment; nobody can write before it ends.
    /// - Throws: as `Database`, `.busy` too; what `sources` and `body` throw.
    public init(
        of sources: () throws -> [String], key: SecretBytes?, limit: Duration = .seconds(30),
        whileNobodyWrites body: () throws -> Void = {}
    ) throws {
        let end = ContinuousClock.now + limit
        while true {
            do {
                if try take(try sources(), key, sources, body) { return }
            } catch let error as StoreError where error.code == .busy && ContinuousClock.now < end {
                // All locks are given up before they are tried again: nobody waits for us and we for them.
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

    /// False: there is another database by now.
    private func take(
        _ paths: [String], _ key: SecretBytes?, _ sources: () throws -> [String], _ body: () throws -> Void
    ) throws -> Bool {
        var writers: [Connection] = []
        // A transaction that changed nothing leaves nothing.
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

    /// Copies one of them as it was, once; see `DatabaseCopy`.
    /// - Throws: `.notAllowed` for one that was not there, or was copied already; as `DatabaseCopy.make`.
    public func copy(_ source: String, to target: String, key: SecretBytes?) throws(StoreError) {
        guard let reader = readers.removeValue(forKey: source) else {
            throw StoreError(.notAllowed, "The database was not there at that moment.")
        }
        defer { reader.close() }
        try DatabaseCopy.make(from: reader, to: target, key: key)
    }
}
