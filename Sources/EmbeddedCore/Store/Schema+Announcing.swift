extension Schema {
    /// `is_announced` is 0 from a file's upload until a server has the message that announces it
    /// (`announces`); then its time starts. The outcome `sent` may come before the message's number is
    /// recorded.
    static let announcing = """
        ALTER TABLE file ADD COLUMN is_announced INTEGER NOT NULL DEFAULT 1;
        ALTER TABLE outgoing ADD COLUMN announces INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE numbered_message (
            profile INTEGER NOT NULL REFERENCES profile,
            connection INTEGER NOT NULL,
            number INTEGER NOT NULL,
            shared_id BLOB,
            item INTEGER,
            outcome TEXT CHECK (outcome IN ('sent', 'delivered', 'failed')),
            problem TEXT,
            noted INTEGER NOT NULL,
            delivery INTEGER,
            announces INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (profile, connection, number)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO numbered_message
            (profile, connection, number, shared_id, item, outcome, problem, noted, delivery)
            SELECT profile, connection, number, shared_id, item, outcome, problem, noted, delivery
            FROM handed_message;
        DROP TABLE handed_message;
        ALTER TABLE numbered_message RENAME TO handed_message;
        """
}
