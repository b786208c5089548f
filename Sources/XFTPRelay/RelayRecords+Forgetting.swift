import Store

/// Deletion of records.
extension RelayRecords {
    /// A deleted record.
    struct Deleted {
        /// Whether its bytes were on disk.
        let wasStored: Bool
        let recipients: Int
        /// The announcement, if bytes were still missing.
        let announcement: Int64?
    }

    /// The maximum number of deleted rows in a transaction, so that other writers do not wait long.
    private static let rowsAtOnce = 5000

    /// Deletes records in one transaction. Returns an entry for each processed record, nil if it did not exist. Records
    /// with many recipients end the transaction early; the rest of `chunks` then remains.
    ///
    /// On a full disk only one of them is deleted, whose bytes then make room for the journal of others. The entries of
    /// records before it are nil.
    func delete(_ chunks: [Int64]) throws -> [Deleted?] {
        do {
            return try deleteTogether(chunks)
        } catch let error as StoreError where error.code == .diskFull && chunks.count > 1 {
            for (number, chunk) in chunks.enumerated() {
                do {
                    return try [Deleted?](repeating: nil, count: number) + deleteTogether([chunk])
                } catch let error as StoreError where error.code == .diskFull {
                    // Its recipients may need more room than those of another record.
                }
            }
            throw error
        }
    }

    private func deleteTogether(_ chunks: [Int64]) throws -> [Deleted?] {
        try database.freeingTransaction(durably: true) { connection in
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

    /// Reserves the space again that deletions on a full disk used, after the bytes of their chunks are gone.
    func reserveSpace() { database.reserveSpace() }

    /// Returns up to `limit` records whose upload was due before `time`.
    func unfinished(dueBefore time: Int64, limit: Int) throws -> [ChunkRecord] {
        try database.read { connection in
            try connection.query(
                """
                SELECT \(Self.columns) FROM announcement a JOIN chunk c ON c.announcement = a.id
                WHERE a.due < ? ORDER BY a.due LIMIT ?
                """, time, limit, row: Self.record)
        }
    }

    /// Deletes an announcement without missing chunks. Announcements count in no quota, so they must not stay.
    func forget(_ announcement: Int64, _ connection: Connection) throws {
        try connection.execute(
            """
            DELETE FROM announcement WHERE id = ?1
            AND NOT EXISTS (SELECT 1 FROM chunk WHERE announcement = ?1)
            """, announcement)
    }

    /// Deletes all announcements due before `time` without missing chunks.
    func forgetAnnouncements(dueBefore time: Int64) throws {
        try database.transaction {
            _ = try $0.execute(
                """
                DELETE FROM announcement WHERE due < ?
                AND NOT EXISTS (SELECT 1 FROM chunk WHERE announcement = announcement.id)
                """, time)
        }
    }

    /// Returns up to `limit` records created before `time`, oldest first.
    func chunks(createdBefore time: Int64, limit: Int) throws -> [ChunkRecord] {
        try database.read { connection in
            try connection.query(
                "SELECT \(Self.columns) FROM chunk c WHERE c.created < ? ORDER BY c.created LIMIT ?", time,
                limit, row: Self.record)
        }
    }
}
