import Store

/// The times of use of queues.
extension QueueRecords {
    /// Records a use of a queue.
    /// - Parameter time: The time in seconds since 1970, rounded down.
    func noteUse(of queue: Int64, at time: Int64) throws {
        try connection.execute("UPDATE queue SET used = ?, unused = 0 WHERE id = ?", time, queue)
    }

    /// Returns up to `limit` unused queues, the oldest first.
    /// - Parameters:
    ///   - madeBefore: The limit for queues never used, in seconds since 1970.
    ///   - usedBefore: The limit for all other queues, in seconds since 1970.
    func queuesOutOfUse(madeBefore: Int64, usedBefore: Int64, limit: Int) throws -> [QueueRecord] {
        try connection.query(
            """
            SELECT \(Self.columns) FROM queue q
            WHERE (q.unused = 1 AND q.used < ?) OR (q.unused = 0 AND q.used < ?) ORDER BY q.used LIMIT ?
            """, madeBefore, usedBefore, limit, row: Self.record)
    }

    /// Returns up to `limit` queues.
    func anyQueues(limit: Int) throws -> [QueueRecord] {
        try connection.query("SELECT \(Self.columns) FROM queue q LIMIT ?", limit, row: Self.record)
    }

    /// Returns the number of queues, of queues never used, and of messages.
    func counts() throws -> (queues: Int, unused: Int, messages: Int) {
        func count(_ rows: String) throws -> Int {
            try connection.first("SELECT count(*) AS count FROM \(rows)") { Int($0.integer("count")) } ?? 0
        }
        return (try count("queue"), try count("queue WHERE unused = 1"), try count("message"))
    }
}
