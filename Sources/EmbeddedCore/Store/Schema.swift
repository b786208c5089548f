import ChatCore
import Store

/// Tables of a data directory. All profiles share one database, so that sender and recipients get a message
/// in one transaction.
///
/// Times of messages and files are nanoseconds since 1970; limits and retention use the database's clock
/// (`StoredClock`). `direction`, `kind`, `status` and `transport` hold words of the SimpleX chat API. Ids are
/// never reused (AUTOINCREMENT).
enum Schema {
    static let migrations = [
        Migration(
            "chats 0.1", [chats, files, network, groups, directory].joined(separator: "\n"),
            replaces: DevelopmentSchema(steps: 30, last: "kept streams")),
        Migration(
            "members by status",
            "CREATE INDEX network_member_by_status ON network_member (chat, status)"),
        Migration(
            "full groups", "ALTER TABLE network_group ADD COLUMN is_full INTEGER NOT NULL DEFAULT 0"),
    ]

    /// SQL condition: item files that are in transfer or failed temporarily. SQLite uses the partial index
    /// only for queries with the identical condition.
    static let isUnsettled = """
        item IS NOT NULL AND (status IN ('snd_transfer', 'snd_error', 'snd_warning', 'rcv_accepted', 'rcv_transfer', \
        'rcv_aborted', 'rcv_warning') OR status = 'snd_stored' AND transport != 'local' OR status = 'rcv_error' AND \
        coalesce(problem, '') NOT IN (\(FileProblem.Kind.goneInSQL)))
        """

    /// SQL condition: missing received files that relays will drop, with a partial index.
    static let isLeaving = """
        item IS NOT NULL AND expires IS NOT NULL AND (status IN ('rcv_invitation', 'rcv_accepted', 'rcv_transfer', \
        'rcv_aborted', 'rcv_warning') OR status = 'rcv_error' AND coalesce(problem, '') NOT IN \
        (\(FileProblem.Kind.goneInSQL)))
        """

    /// SQL condition: messages with a description but without the message itself. SQLite uses the partial
    /// index only for queries with the identical condition.
    static let isWaiting = "parts > 0 AND has_file = 0 AND coalesce(state, 'changed') = 'changed'"

    /// SQL condition: missing inline files, with a partial index.
    static let isWithinMessages = """
        transport = 'smp' AND inline_content IS NULL AND status IN ('rcv_invitation', 'rcv_aborted', 'rcv_accepted', \
        'rcv_transfer', 'rcv_warning')
        """

    /// `part`: the other databases of the data directory.
    private static let directory = """
        \(StoredClock.schema)
        CREATE TABLE part (place TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
        """
}
