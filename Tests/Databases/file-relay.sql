INSERT INTO schema_version (number, name) VALUES
    (1, 'relay records'),
    (2, 'announcements');
CREATE TABLE chunk (
    id INTEGER PRIMARY KEY,
    sender_id BLOB NOT NULL UNIQUE,
    sender_key BLOB NOT NULL,
    size INTEGER NOT NULL,
    digest BLOB NOT NULL,
    created INTEGER NOT NULL,
    stored INTEGER NOT NULL DEFAULT 0,
    announcement INTEGER REFERENCES announcement (id)
) STRICT;
CREATE INDEX chunk_by_age ON chunk (created);
CREATE TABLE recipient (
    recipient_id BLOB PRIMARY KEY,
    chunk INTEGER NOT NULL REFERENCES chunk (id) ON DELETE CASCADE,
    key BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX recipient_by_chunk ON recipient (chunk);
CREATE TABLE announcement (
    id INTEGER PRIMARY KEY,
    due INTEGER NOT NULL
) STRICT;
CREATE INDEX announcement_by_due ON announcement (due);
CREATE INDEX chunk_by_announcement ON chunk (announcement) WHERE announcement IS NOT NULL;
