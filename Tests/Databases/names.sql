INSERT INTO schema_version (number, name) VALUES
    (1, 'names'),
    (2, 'mountpoints'),
    (3, 'cleaned'),
    (4, 'digests');
CREATE TABLE node (
    inode INTEGER PRIMARY KEY AUTOINCREMENT,
    folder INTEGER NOT NULL,
    name BLOB NOT NULL,
    chat TEXT UNIQUE,
    item INTEGER UNIQUE,
    draft INTEGER UNIQUE,
    modified INTEGER,
    cleaned INTEGER NOT NULL DEFAULT 0,
    sha256 BLOB,
    UNIQUE (folder, name),
    CHECK ((chat IS NOT NULL) + (item IS NOT NULL) + (draft IS NOT NULL) = 1)
) STRICT;
CREATE TABLE buried_name (
    folder INTEGER NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (folder, digest)
) STRICT, WITHOUT ROWID;
CREATE TABLE salt (bytes BLOB NOT NULL) STRICT;
CREATE TABLE mountpoint (
    path TEXT PRIMARY KEY,
    since INTEGER NOT NULL,
    is_swept INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO sqlite_sequence (name, seq) VALUES ('node', 1023);
INSERT INTO salt (bytes) VALUES (randomblob(32));
