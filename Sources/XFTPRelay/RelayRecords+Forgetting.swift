import Store

/// What is deleted, or is due, and goes.
extension RelayRecords {
    /// What went with a record.
    struct Deleted {
        /// Bytes were on disk at that moment.
        let wasStored: Bool
        let recipients: Int
        /// In which bytes were waited for.
        let announcement: Int64?
    }

    /// With so many rows deleted a transaction ends: who else writes waits for it.
    private static let rowsAtOnce = 5000

    /// Forgets records, which costs one wait for the disk. Answers what went with each, nil when it was gone; where
    /// there are many recipients, of the first ones alone, and the others are there still.
    func delete(_ chunks: [Int64]) throws -> [Deleted?] {
        try database.durableTransaction { connection in
            var (deleted, rows): ([Deleted?], Int) = ([], 0)
            for chunk in chunks where rows < Self.rowsAtOnce {
                let found = try connection.first(
                    """
                    SELECT stored, (SELECT count(*) FROM recipient WHERE chunk = c.id) AS recipients, announcement
                    FROM chunk c WHERE id = ?
                    """, chunk
                ) { row in
                    Deleted(
                        wasStored: row.bool("stored"), recipients: Int(row.integer("recipients")),
                        announcement: row.integerOrNil("announcement"))
                }
                deleted.append(found)
                guard let found else { continue }
                rows += 1 + found.recipients
                try connection.execute("DELETE FROM chunk WHERE id = ?", chunk)
                if let announcement = found.announcement { try self.forget(announcement, connection) }
            }
            return deleted
        }
    }

    /// Up to `limit` records that waited for their bytes until `time` in vain.
    func unfinished(dueBefore time: Int64, limit: Int) throws -> [ChunkRecord] {
        try database.read { connection in
            try connection.query(
                """
                SELECT \(Self.columns) FROM announcement a JOIN chunk c ON c.announcement = a.id
                WHERE a.due < ? ORDER BY a.due LIMIT ?
                """, time, limit, row: Self.record)
        }
    }

    /// Forgets an announcement of which nothing is waited for any more. It counts in no quota, so it does not stay.
    func forget(_ announcement: Int64, _ connection: Connection) throws {
        try connection.execute(
            """
            DELETE FROM announcement WHERE id = ?1
            AND NOT EXISTS (SELECT 1 FROM chunk WHERE announcement = ?1)
            """, announcement)
    }

    /// The same of all that were due by then.
    func forgetAnnouncements(dueBefore time: Int64) throws {
        try database.transaction {
            _ = try $0.execute(
                """
                DELETE FROM announcement WHERE due < ?
                AND NOT EXISTS (SELECT 1 FROM chunk WHERE announcement = announcement.id)
                """, time)
        }
    }

    /// Up to `limit` records created before `time`, oldest first.
    func chunks(createdBefore time: Int64, limit: Int) throws -> [ChunkRecord] {
        try database.read { connection in
            try connection.query(
                "SELECT \(Self.columns) FROM chunk c WHERE c.created < ? ORDER BY c.created LIMIT ?", time,
                limit, row: Self.record)
        }
    }
}
