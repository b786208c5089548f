import Base

/// Time as a database counts it: it goes on over restarts, and no wall clock moves it. Processes that have the same
/// database open count alike. Safe to use from any thread.
public final class StoredClock: Sendable {
    /// Its table, for migrations: it never changes.
    public static let schema = """
        CREATE TABLE elapsed_time (
            id INTEGER PRIMARY KEY CHECK (id = 1), boot TEXT NOT NULL, reading INTEGER NOT NULL, time INTEGER NOT NULL
        ) STRICT;
        """

    private struct State {
        var count: ElapsedTimeCount
        /// What of it is in the database; nil: nothing of this start. What is not, a start of the machine forgets.
        var kept: ElapsedTime?
    }

    private let clock: any BootClock
    private let state: Lock<State>
    /// It is written so often at most.
    public static let step = Duration.seconds(600)

    /// Goes on where the database has come to; the next change of the database writes down that it does. Blocks.
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

    /// The same, written down with a transaction that is under way, where that is due. Should it be undone, less time has
    /// passed after the next start of the machine.
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
