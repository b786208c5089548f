import Base

/// Elapsed time stored in a database. It continues across restarts and ignores wall clock changes. Processes with the
/// same database share it. Thread-safe.
public final class StoredClock: Sendable {
    /// The schema of its table, for migrations. It never changes.
    public static let schema = """
        CREATE TABLE elapsed_time (
            id INTEGER PRIMARY KEY CHECK (id = 1), boot TEXT NOT NULL, reading INTEGER NOT NULL, time INTEGER NOT NULL
        ) STRICT;
        """

    private struct State {
        var count: ElapsedTimeCount
        /// The time in the database, or nil if none of this boot. A reboot forgets time that was not stored.
        var kept: ElapsedTime?
    }

    private let clock: any BootClock
    private let state: Lock<State>
    /// The minimum time between two writes.
    public static let step = Duration.seconds(600)

    /// Continues from the stored time. The next change of the database stores that. Blocks.
    public init(_ clock: any BootClock, in database: Database) throws(StoreError) {
        self.clock = clock
        let reading = clock.reading()
        var count = ElapsedTimeCount(reading: reading, time: ElapsedTime(seconds: 0))
        do {
            let stored = try database.read { connection in
                try connection.first("SELECT boot, reading, time FROM elapsed_time") { row in
                    ElapsedTimeCount(
                        reading: BootReading(boot: row.text("boot"), nanoseconds: row.integer("reading")),
                        time: ElapsedTime(nanoseconds: row.integer("time")))
                }
            }
            if let stored { count = stored }
        } catch {
            throw error as? StoreError
                ?? StoreError(.damaged, "The time that has passed could not be read.", cause: error)
        }
        _ = count.advance(to: reading)
        state = Lock(State(count: count))
    }

    public func now() -> ElapsedTime {
        let reading = clock.reading()
        return state.withLock { $0.count.advance(to: reading) }
    }

    /// Returns the time and stores it in an active transaction if due. After a rollback, less time has passed at the
    /// next boot.
    public func keep(in connection: Connection) throws(StoreError) -> ElapsedTime {
        let reading = clock.reading()
        let (now, due) = state.withLock { state in
            let now = state.count.advance(to: reading)
            if let kept = state.kept, now < kept.advanced(by: Self.step) {
                return (now, ElapsedTimeCount?.none)
            }
            state.kept = now
            return (now, state.count)
        }
        if let due { try Self.write(due, to: connection) }
        return now
    }

    private static func write(_ count: ElapsedTimeCount, to connection: Connection) throws(StoreError) {
        try connection.execute(
            "INSERT OR REPLACE INTO elapsed_time (id, boot, reading, time) VALUES (1, ?, ?, ?)",
            count.reading.boot, count.reading.nanoseconds, count.time.nanoseconds)
    }
}
