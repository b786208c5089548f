INSERT INTO schema_version (number, name) VALUES
    (1, 'queues and messages'),
    (2, 'uses of queues');
CREATE TABLE queue (
    id INTEGER PRIMARY KEY,
    recipient_id BLOB NOT NULL UNIQUE,
    sender_id BLOB NOT NULL UNIQUE,
    recipient_key BLOB NOT NULL,
    sender_key BLOB,
    mode TEXT,
    box_secret BLOB NOT NULL,
    suspended INTEGER NOT NULL DEFAULT 0,
    full INTEGER NOT NULL DEFAULT 0,
    used INTEGER NOT NULL DEFAULT 0,
    unused INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE link (
    queue INTEGER PRIMARY KEY REFERENCES queue (id) ON DELETE CASCADE,
    link_id BLOB NOT NULL UNIQUE,
    fixed BLOB NOT NULL,
    user BLOB NOT NULL
) STRICT;
CREATE TABLE message (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    queue INTEGER NOT NULL REFERENCES queue (id) ON DELETE CASCADE,
    message_id BLOB NOT NULL,
    received INTEGER NOT NULL,
    flags BLOB,
    body BLOB
) STRICT;
CREATE INDEX message_by_queue ON message (queue, number);
CREATE INDEX message_by_age ON message (received);
CREATE INDEX queue_by_use ON queue (unused, used);
