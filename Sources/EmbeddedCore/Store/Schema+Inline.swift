extension Schema {
    /// Files that come within messages and are not here: a row from when their chunks are to be taken (`is_asked`: the
    /// sender was asked for them) to when they are the `inline_content` of their file, or failed. `received` chunks are
    /// there, from 1 on.
    static let inlineTransfers = """
        CREATE TABLE inline_transfer (
            file INTEGER PRIMARY KEY REFERENCES file ON DELETE CASCADE,
            is_asked INTEGER NOT NULL,
            received INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE TABLE inline_chunk (
            file INTEGER NOT NULL REFERENCES inline_transfer ON DELETE CASCADE,
            number INTEGER NOT NULL,
            bytes BLOB NOT NULL,
            UNIQUE (file, number)
        ) STRICT;
        """
}
