INSERT INTO schema_version (number, name) VALUES
    (1, 'drafts'),
    (2, 'order'),
    (3, 'age'),
    (4, 'folders'),
    (5, 'withdrawn'),
    (6, 'holds');
CREATE TABLE outbox (mark TEXT NOT NULL, seen INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE draft (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    chat TEXT NOT NULL,
    name BLOB NOT NULL,
    spool TEXT NOT NULL UNIQUE,
    key BLOB NOT NULL,
    message TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL
        CHECK (state IN ('open', 'closed', 'queued', 'sent', 'failed', 'unsure', 'recovered')),
    size INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    caption TEXT NOT NULL,
    broken INTEGER NOT NULL,
    confirmed INTEGER NOT NULL DEFAULT 0,
    durable INTEGER NOT NULL,
    boot TEXT NOT NULL,
    touched INTEGER NOT NULL,
    staged_folder TEXT,
    staged_name TEXT,
    staged_key BLOB,
    staged_nonce BLOB,
    staged_kind TEXT,
    item INTEGER,
    problem TEXT,
    place INTEGER NOT NULL DEFAULT 0,
    withdrawn INTEGER NOT NULL DEFAULT 0,
    hold TEXT,
    CHECK ((state = 'queued') <= (staged_folder IS NOT NULL)),
    CHECK ((state = 'sent') <= (item IS NOT NULL))
) STRICT;
