import Base
import Store

/// The last time that the whole history of a phone was read.
struct ReviewTable {
    let connection: Connection

    /// Returns nil before the first time.
    func last() throws -> Timestamp? {
        try connection.first("SELECT time FROM review") { $0.timestamp("time") }
    }

    func note(_ time: Timestamp) throws {
        try connection.execute("INSERT OR REPLACE INTO review (only, time) VALUES (1, ?)", time)
    }
}
