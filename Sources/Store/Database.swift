import Base
import CSQLite
import Cryptography
import Glibc
import Posix
import SealedPages
import Synchronization

/// A SQLite database with one connection. All calls block (disk, write locks of other processes), so async code calls
/// them through `ThreadPool.shared.run`. Thread-safe; one call runs at a time. Calls inside a transaction use its
/// `Connection`; a nested call on the database is a fatal error instead of a deadlock.
///
/// Files have mode 0600. Deleted content is overwritten (`secure_delete`). The journal is a WAL.
public final class Database: @unchecked Sendable {
    /// The time from which a transaction survives a power cut. All transactions survive the end of the process.
    public enum Durability: Sendable {
        /// When `transaction` returns.
        case full
        /// Some time later, in order. For data that can be rebuilt, such as an index.
        case eventual
    }

    // Safe: only the thread that holds `mutex` uses `connection`.
    private let connection: Connection
    private let mutex = PthreadMutex(refusesRelocking: true)
    private let lockClass: LockClass
    /// The thread that holds `mutex`, or 0.
    private let holder = Atomic<pthread_t>(0)
    /// The `synchronous` setting between transactions.
    private let usual: String
    private let busyTimeout: Duration
    /// Reserved space for changes that free space.
    private let reserve: ReservedSpace?
    private static let checkpointTimeout = Duration.milliseconds(250)

    /// Opens or creates the database and applies missing migrations.
    ///
    /// - Parameters:
    ///   - key: 32 random bytes that seal the database and its journal (`SealedVFS`), or nil for a plain database.
    ///     Stays in locked memory until the database is closed.
    ///   - consent: Consent to irreversible migrations. A copy is made first (`MigrationCopy`).
    ///   - reservesSpace: Whether to reserve 256 KiB next to the database, so that `freeingTransaction` works on a full
    ///     disk.
    ///   - busyTimeout: The maximum wait for write transactions of other processes.
    /// - Throws: `.wrongVersion` if a newer version of the program wrote it or consent is missing; `.damaged`,
    ///   `.damagedPage`, `.notADatabase`, `.wrongKey`, `.encrypted`, `.notEncrypted`, `.diskFull`, `.notAllowed`,
    ///   `.noMemory`, `.tooManyFiles`.
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
            // Set secure_delete before any write. The size limit soon removes old pages from the journal.
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
            // Decrypting an evicted page again costs more than reading it, so the cache is larger.
            if key != nil { try connection.executeScript("PRAGMA cache_size = -8192") }
            try enterWriteAheadLog(within: busyTimeout)
            try migrate(through: migrations, at: path, key, consent)
        } catch {
            if key == nil, connection.isSealed { throw StoreError.encrypted }
            throw error as? StoreError ?? StoreError(.damaged, "The schema could not be read.", cause: error)
        }
        reserve?.take()
    }

    private func migrate(
        through migrations: [Migration], at path: String, _ key: SecretBytes?, _ consent: MigrationConsent
    ) throws {
        try transaction { connection in
            try connection.adoptDevelopmentSchema(in: migrations)
            if let step = try connection.nextFinal(of: migrations) {
                guard consent == .given else { throw StoreError.unconfirmedMigration }
                // The transaction excludes other writers.
                try MigrationCopy.make(of: path, key: key, before: step.name)
            }
            try connection.migrate(through: migrations)
        }
    }

    /// Runs a transaction that frees space outside the database, such as a deleted row's file. Works on a full disk
    /// while there is reserved space.
    /// - Parameters:
    ///   - durably: Whether to commit like `durableTransaction`.
    ///   - body: The work, which may run twice.
    /// - Throws: The errors of `transaction`.
    @discardableResult
    public func freeingTransaction<Result>(
        durably: Bool = false, _ body: (Connection) throws -> Result
    ) throws -> Result {
        let synchronous = durably ? "FULL" : nil
        do {
            return try run("BEGIN IMMEDIATE", synchronous: synchronous, body)
        } catch let error where Self.isFullDisk(error) {
            guard let reserve, reserve.release() else { throw error }
            // Truncate the journal in any case, to reserve the space again.
            defer {
                try? checkpoint()
                reserve.take()
            }
            return try run("BEGIN IMMEDIATE", synchronous: synchronous, body)
        }
    }

    /// Reserves the space again that `freeingTransaction` used, if the disk has room.
    public func reserveSpace() { reserve?.take() }

    private static func isFullDisk(_ error: any Error) -> Bool {
        (error as? StoreError)?.code == .diskFull || (error as? SystemError)?.isFullDisk == true
    }

    /// Runs `body` in an IMMEDIATE transaction, which excludes other writers. An error rolls back all changes.
    /// - Throws: The errors of `body`; `StoreError` of BEGIN and COMMIT.
    @discardableResult
    public func transaction<Result>(_ body: (Connection) throws -> Result) throws -> Result {
        try run("BEGIN IMMEDIATE", body)
    }

    /// Runs a transaction that survives a power cut when it returns, also with `.eventual` durability. All earlier
    /// commits survive too, because the journal is one sequential file.
    /// - Throws: The errors of `transaction`.
    @discardableResult
    public func durableTransaction<Result>(_ body: (Connection) throws -> Result) throws -> Result {
        try run("BEGIN IMMEDIATE", synchronous: "FULL", body)
    }

    /// Runs `body` on one snapshot of the database. `body` must not write.
    /// - Throws: The errors of `transaction`.
    public func read<Result>(_ body: (Connection) throws -> Result) throws -> Result {
        try run("BEGIN", body)
    }

    /// Commits a durable transaction that changes nothing but writes a page. It overwrites journal frames of a process
    /// that was killed between its last write and the publication of its commit. Other processes never saw that commit,
    /// but SQLite would recover it after a power cut. Call it before deleting external data that no row references.
    /// - Throws: `StoreError`.
    public func commitOverUnfinished() throws {
        try durableTransaction { connection in
            let version = try connection.first("PRAGMA user_version") { $0.integer("user_version") } ?? 0
            // Setting the version writes its page even if the value is equal.
            try connection.executeScript("PRAGMA user_version = \(version)")
        }
    }

    /// Moves the journal into the database file and truncates it, so that deleted content is gone from it too. Waits at
    /// most a quarter of a second for other readers and writers. It then does a partial checkpoint, and the next call
    /// does the rest.
    /// - Throws: `.notAllowed` after `close`; the errors of every statement of a `Connection`.
    public func checkpoint() throws(StoreError) {
        lock()
        defer { unlock() }
        try requireOpen()
        Self.wait(min(Self.checkpointTimeout, busyTimeout), onBehalfOf: connection.handle)
        defer { Self.wait(busyTimeout, onBehalfOf: connection.handle) }
        try connection.executeScript("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// Closes the database, for a process that continues or never drops its last reference. The last connection moves
    /// the journal into the file and deletes it. Later calls throw `.notAllowed`. Waits for an active transaction.
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
        // If this fails, later commits only wait longer for the disk.
        defer { if synchronous != nil { try? connection.executeScript("PRAGMA synchronous = \(usual)") } }
        try connection.execute(begin)
        do {
            let result = try body(connection)
            try connection.execute("COMMIT")
            return result
        } catch {
            // SQLite rolls back on its own if the disk is full. If this ROLLBACK fails, the next BEGIN fails too.
            if sqlite3_get_autocommit(connection.handle) == 0 { try? connection.executeScript("ROLLBACK") }
            throw error
        }
    }

    /// Retries every millisecond at first, then every five. SQLite's own delays grow to 100 ms, far longer than another
    /// process's transactions.
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
        holder.store(pthread_self(), ordering: .relaxed)
    }

    private func unlock() {
        holder.store(0, ordering: .relaxed)
        mutex.unlock()
        lockClass.didUnlock(mutex.address)
    }

    /// Whether the calling thread is inside a transaction of this database, where slow work is not allowed.
    public var isInTransaction: Bool { holder.load(ordering: .relaxed) == pthread_self() }

    /// Switches to WAL mode. The switch needs exclusive access, and SQLite does not apply the busy timeout to it. This
    /// matters when two processes open a new database at once.
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
