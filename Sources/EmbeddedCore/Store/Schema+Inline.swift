extension Schema {
    /// Missing inline files whose chunks are accepted. `is_asked`: whether the file was requested.
    /// `received`: number of stored chunks, counted from 1. A complete file becomes its row's
    /// `inline_content`.
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
