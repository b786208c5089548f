import Store

/// When queues were used, and which are not used any more.
extension QueueRecords {
    static let usesMigration = Migration(
        "uses of queues",
        """
        ALTER TABLE queue ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE queue ADD COLUMN unused INTEGER NOT NULL DEFAULT 0;
        UPDATE queue SET used = CAST(strftime('%s', 'now') AS INTEGER);
        CREATE INDEX queue_by_use ON queue (unused, used);
        """)

    /// A queue is in use.
    /// - Parameter time: seconds since 1970, rounded down.
    func noteUse(of queue: Int64, at time: Int64) throws {
        try connection.execute("UPDATE queue SET used = ?, unused = 0 WHERE id = ?", time, queue)
    }

    /// Up to `limit` queues that went out of use, those first that did so first.
    /// - Parameters:
    ///   - madeBefore: of those that nobody has used since they were made, seconds since 1970.
    ///   - usedBefore: of all others.
    func queuesOutOfUse(madeBefore: Int64, usedBefore: Int64, limit: Int) throws -> [QueueRecord] {
        try connection.query(
            """
            SELECT \(Self.columns) FROM queue q
            WHERE (q.unused = 1 AND q.used < ?) OR (q.unused = 0 AND q.used < ?) ORDER BY q.used LIMIT ?
            """, madeBefore, usedBefore, limit, row: Self.record)
    }

    /// Up to `limit` queues of all.
    func anyQueues(limit: Int) throws -> [QueueRecord] {
        try connection.query("SELECT \(Self.columns) FROM queue q LIMIT ?", limit, row: Self.record)
    }

    /// How many queues there are, how many of them nobody has used since they were made, and how many messages.
    func counts() throws -> (queues: Int, unused: Int, messages: Int) {
        func count(_ rows: String) throws -> Int {
            try connection.first("SELECT count(*) AS count FROM \(rows)") { Int($0.integer("count")) } ?? 0
        }
        return (try count("queue"), try count("queue WHERE unused = 1"), try count("message"))
    }
}
