extension Schema {
    /// SQL condition: messages with a description but without the message itself. SQLite uses the partial
    /// index only for queries with the identical condition.
    static let isWaiting = "parts > 0 AND has_file = 0 AND coalesce(state, 'changed') = 'changed'"

    /// SQL condition: missing inline files, with a partial index.
    static let isWithinMessages = """
        transport = 'smp' AND inline_content IS NULL AND status IN ('rcv_invitation', 'rcv_aborted', 'rcv_accepted', \
        'rcv_transfer', 'rcv_warning')
        """

    /// Makes the look-ups for each message independent of the chat's length. Description parts are rows, so
    /// that another part costs only itself. `description_length` counts the bytes of all parts.
    static let descriptionParts = """
        CREATE TABLE description_part (
            chat INTEGER NOT NULL,
            author TEXT NOT NULL,
            shared_id BLOB NOT NULL,
            number INTEGER NOT NULL,
            text TEXT NOT NULL,
            UNIQUE (chat, author, shared_id, number),
            FOREIGN KEY (chat, author, shared_id) REFERENCES shared_message ON DELETE CASCADE
        ) STRICT;
        INSERT INTO description_part (chat, author, shared_id, number, text)
            SELECT chat, author, shared_id, 1, description FROM shared_message
            WHERE description IS NOT NULL AND parts > 0;
        ALTER TABLE shared_message ADD COLUMN description_length INTEGER NOT NULL DEFAULT 0;
        UPDATE shared_message SET description_length = length(CAST(description AS BLOB))
            WHERE description IS NOT NULL;
        ALTER TABLE shared_message DROP COLUMN description;
        CREATE INDEX shared_message_waiting ON shared_message (chat, author) WHERE \(isWaiting);
        CREATE INDEX shared_message_shown ON shared_message (chat, author) WHERE item IS NOT NULL;
        CREATE INDEX file_within_messages ON file (profile) WHERE \(isWithinMessages);
        """
}
