import Base
import CSQLite
import Cryptography
import Glibc
import Posix
import SealedPages

/// A SQLite database behind one connection. All calls block (disk, write locks of other processes):
/// from async code go through `ThreadPool.shared.run`. Any thread may call; one call runs at a time. Calls
/// inside a transaction of the same thread go through its `Connection`; anything else would wait for
/// itself, so it is a fatal error.
///
/// Files are made 0600; deleted content is overwritten (`secure_delete`); the journal is a WAL.
public final class Database: @unchecked Sendable {
    /// When a transaction is safe against a power cut. Against the end of the process all are.
    public enum Durability: Sendable {
        /// When `transaction` returns.
        case full
        /// Some time later, in order; for what can be made again, such as an index.
        case eventual
    }

    // Safe: `connection` is used only by the thread that holds `mutex`, which checks for a thread
    // that would wait for itself.
    private let connection: Connection
    private let mutex = PthreadMutex(refusesRelocking: true)
    private let lockClass: LockClass
    /// The thread that holds `mutex`.
    private let holder = Lock<pthread_t?>(nil)
    /// The `synchronous` setting between transactions.
    private let usual: String
    private let busyTimeout: Duration
    /// For changes that free space.
    private let reserve: ReservedSpace?
    private static let checkpointTimeout = Duration.milliseconds(250)

    /// Opens or makes the database and brings its schema up to date.
    ///
    /// - Parameters:
    ///   - key: 32 random bytes with which the database and its journal are sealed (`SealedVFS`); nil: they are in
    ///     clear. It stays in locked memory until the database is closed.
    ///   - consent: to changes of the schema that cannot be undone; a copy is made before (`MigrationCopy`).
    ///   - reservesSpace: so that `freeingTransaction` works on a full disk: 256 KiB are kept beside the database.
    ///   - busyTimeout: how long to wait for other processes' write transactions.
    /// - Throws: `.wrongVersion` when a newer version of the program wrote it, or consent is missing; `.damaged`, `.damagedPage`,
    ///   `.notADatabase`, `.wrongKey`, `.encrypted`, `.notEncrypted`, `.diskFull`, `.notAllowed`, `.noMemory`,
    ///   `.tooManyFiles`.
    public init(
        path: String, migrations: [Migration], key: SecretBytes? = nil, durability: Durability = .full,
        consent: MigrationConsent = .given, reservesSpace: Bool = false, busyTimeout: Duration = .seconds(10),
        file: StaticString = #fileID, line: UInt = #line
    ) throws(StoreError) {
        lockClass = LockClass(.database, file: file, line: line)
        usual = durability == .full ? "FULL" : "NORMAL"
        self.busyTimeout = busyTimeout
        reserve = reservesSpace ? ReservedSpace(besides: path) : nil
        connection = try Connection(path: path, key: key)
        Self.wait(busyTimeout, onBehalfOf: connection.handle)
        do {
            // secure_delete before anything is written; the size limit keeps old pages from staying in
            // the journal for long.
            try connection.executeScript(
                """
                PRAGMA secure_delete = ON;
                PRAGMA foreign_keys = ON;
                PRAGMA trusted_schema = OFF;
                PRAGMA temp_store = MEMORY;
                PRAGMA cell_size_check = ON;
                PRAGMA journal_size_limit = 0;
                PRAGMA synchronous = \(usual);
                """)
            // Pages that SQLite no longer has must be unsealed again, which costs more than reading them does.
            if key != nil { try connection.executeScript("PRAGMA cache_size = -8192") }
            try enterWriteAheadLog(within: busyTimeout)
            try transaction { connection in
                if let step = try connection.nextFinal(of: migrations) {
                    guard consent == .given else { throw StoreError.unconfirmedMigration }
                    // Nobody else writes meanwhile.
                    try MigrationCopy.make(of: path, key: key, before: step.name)
                }
                try connection.migrate(through: migrations)
            }
        } catch {
            if key == nil, connection.isSealed { throw StoreError.encrypted }
            throw error as? StoreError ?? StoreError(.damaged, "The schema could not be read.", cause: error)
        }
        reserve?.take()
    }

    /// A transaction after which something outside of the database takes less room, such as the file of a row that goes:
    /// a full disk does not refuse it as long as there is reserved space.
    /// - Parameters:
    ///   - durably: as `durableTransaction`.
    ///   - body: may be run twice.
    /// - Throws: as `transaction`.
    @discardableResult
    public func freeingTransaction<Result>(
        durably: Bool = false, _ body: (Connection) throws -> Result
    ) throws -> Result {
        let synchronous = durably ? "FULL" : nil
        do {
            return try run("BEGIN IMMEDIATE", synchronous: synchronous, body)
        } catch let error where Self.isFullDisk(error) {
            guard let reserve, reserve.release() else { throw error }
            // Whatever comes of it, the journal gives its room back, for the next time.
            defer {
                try? checkpoint()
                reserve.take()
            }
            return try run("BEGIN IMMEDIATE", synchronous: synchronous, body)
        }
    }

    /// Takes the space again that `freeingTransaction` has used, where there is some.
    public func reserveSpace() { reserve?.take() }

    private static func isFullDisk(_ error: any Error) -> Bool {
        (error as? StoreError)?.code == .diskFull || (error as? SystemError)?.isFullDisk == true
    }

    /// Runs `body` in an IMMEDIATE transaction: all of it takes effect, or, when it throws, nothing.
    /// Nobody else writes meanwhile.
    /// - Throws: what `body` throws, and `StoreError` of beginning and committing.
    @discardableResult
    public func transaction<Result>(_ body: (Connection) throws -> Result) throws -> Result {
        try run("BEGIN IMMEDIATE", body)
    }

    /// The same, safe against a power cut when it returns, also in a database of `.eventual`
    /// durability; everything that was committed before is then safe as well, since the journal is
    /// one file in order.
    /// - Throws: as `transaction`.
    @discardableResult
    public func durableTransaction<Result>(_ body: (Connection) throws -> Result) throws -> Result {
        try run("BEGIN IMMEDIATE", synchronous: "FULL", body)
    }

    /// Runs `body` on one snapshot of the database. It must not write.
    /// - Throws: as `transaction`.
    public func read<Result>(_ body: (Connection) throws -> Result) throws -> Result {
        try run("BEGIN", body)
    }

    /// Commits a transaction that is written though it changes nothing, durably. It takes the place of one in the
    /// journal whose process was killed after its last write and before the others could see it: for them it never
    /// happened, but after a power cut SQLite would find it and take it for committed. To be called before anything
    /// outside of the database is destroyed because no row speaks of it.
    /// - Throws: `StoreError`.
    public func commitOverUnfinished() throws {
        try durableTransaction { connection in
            let version = try connection.first("PRAGMA user_version") { $0.integer("user_version") } ?? 0
            // Setting it writes its page, whatever it was.
            try connection.executeScript("PRAGMA user_version = \(version)")
        }
    }

    /// Moves the journal's content into the database file and empties the journal, so that what was
    /// deleted is gone from it too. Waits a quarter of a second for others who read or write, at most; then it does
    /// what it can beside them, and the next one does the rest.
    /// - Throws: `.notAllowed` after `close`; as every statement of a `Connection`.
    public func checkpoint() throws(StoreError) {
        lock()
        defer { unlock() }
        try requireOpen()
        Self.wait(min(Self.checkpointTimeout, busyTimeout), onBehalfOf: connection.handle)
        defer { Self.wait(busyTimeout, onBehalfOf: connection.handle) }
        try connection.executeScript("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// Ends the use of this database, for a process that goes on or never drops its last reference: the
    /// journal goes into the file and, when nobody else has the database open, disappears. Later calls
    /// throw `.notAllowed`. Waits for a transaction under way.
    public func close() {
        lock()
        defer { unlock() }
        connection.close()
    }

    private func requireOpen() throws(StoreError) {
        guard !connection.isClosed else { throw StoreError(.notAllowed, "The database has been closed.") }
    }

    private func run<Result>(
        _ begin: String, synchronous: String? = nil, _ body: (Connection) throws -> Result
    ) throws -> Result {
        lock()
        defer { unlock() }
        try requireOpen()
        // The setting cannot change inside a transaction.
        if let synchronous { try connection.executeScript("PRAGMA synchronous = \(synchronous)") }
        // Where that fails, later changes only wait for the disk longer than they must.
        defer { if synchronous != nil { try? connection.executeScript("PRAGMA synchronous = \(usual)") } }
        try connection.execute(begin)
        do {
            let result = try body(connection)
            try connection.execute("COMMIT")
            return result
        } catch {
            // A full disk makes SQLite roll back by itself. Where it cannot, the next BEGIN says so.
            if sqlite3_get_autocommit(connection.handle) == 0 { try? connection.executeScript("ROLLBACK") }
            throw error
        }
    }

    /// Asks again every millisecond at first, then every five: SQLite's own steps grow to a tenth of a
    /// second, far longer than the transactions of the other process that is waited for.
    private static func wait(_ timeout: Duration, onBehalfOf handle: OpaquePointer) {
        let looks = Int(timeout / .milliseconds(5))
        sqlite3_busy_handler(
            handle,
            { looks, count in
                guard Int(count) < Int(bitPattern: looks) else { return 0 }
                usleep(count < 20 ? 1_000 : 5_000)
                return 1
            }, UnsafeMutableRawPointer(bitPattern: looks))
    }

    private func lock() {
        lockClass.willLock(mutex.address)
        precondition(mutex.lock(), "a database was used inside its own transaction")
        holder.withLock { $0 = pthread_self() }
    }

    private func unlock() {
        holder.withLock { $0 = nil }
        mutex.unlock()
        lockClass.didUnlock(mutex.address)
    }

    /// Whether the calling thread is inside a transaction of this database, where nothing slow may be done.
    public var isInTransaction: Bool { holder.withLock { $0 == pthread_self() } }

    /// The switch to the write-ahead log needs the file for itself for a moment, and SQLite does not
    /// apply the busy timeout to it: two processes that open a new database at once meet here.
    private func enterWriteAheadLog(within timeout: Duration) throws(StoreError) {
        let end = ContinuousClock.now + timeout
        while true {
            do throws(StoreError) {
                return try connection.executeScript("PRAGMA journal_mode = WAL")
            } catch {
                guard error.code == .busy, ContinuousClock.now < end else { throw error }
                usleep(20_000)
            }
        }
    }
}
