INSERT INTO schema_version (number, name) VALUES
    (1, 'index'),
    (2, 'moving'),
    (3, 'kept'),
    (4, 'disappearing'),
    (5, 'newest'),
    (6, 'read'),
    (7, 'named'),
    (8, 'unsettled'),
    (9, 'preview'),
    (10, 'leaving'),
    (11, 'identity'),
    (12, 'place'),
    (13, 'deleted by sender');
CREATE TABLE chat (
    chat TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    updated INTEGER NOT NULL,
    refused TEXT,
    gone INTEGER NOT NULL DEFAULT 0,
    listed INTEGER NOT NULL DEFAULT 0,
    named INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE walk (
    reference TEXT PRIMARY KEY,
    chat TEXT NOT NULL,
    number INTEGER NOT NULL,
    start INTEGER NOT NULL DEFAULT 0,
    frontier INTEGER,
    done INTEGER NOT NULL,
    again INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE item (
    id INTEGER PRIMARY KEY,
    chat TEXT NOT NULL,
    reference TEXT NOT NULL,
    seen INTEGER NOT NULL,
    direction TEXT NOT NULL,
    sender TEXT NOT NULL,
    time INTEGER NOT NULL,
    kind TEXT NOT NULL,
    seconds INTEGER NOT NULL,
    text TEXT NOT NULL,
    file INTEGER NOT NULL,
    name TEXT NOT NULL,
    size INTEGER NOT NULL,
    transport TEXT NOT NULL,
    status TEXT NOT NULL,
    part INTEGER NOT NULL,
    total INTEGER NOT NULL,
    problem TEXT,
    sentence TEXT,
    described INTEGER NOT NULL,
    path TEXT,
    sealed INTEGER NOT NULL,
    disappears INTEGER NOT NULL DEFAULT 0,
    read INTEGER NOT NULL DEFAULT 0,
    preview INTEGER NOT NULL DEFAULT 0,
    deleted INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX item_of_chat ON item (chat, id);
CREATE INDEX item_of_reference ON item (reference, id);
CREATE INDEX item_of_file ON item (file);
CREATE TABLE send (
    message TEXT PRIMARY KEY,
    chat TEXT NOT NULL,
    folder TEXT NOT NULL UNIQUE,
    run TEXT NOT NULL,
    item INTEGER,
    size INTEGER NOT NULL,
    newest INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX moving_item ON item (id)
    WHERE status IN ('rcvAccepted', 'rcvTransfer', 'rcvWarning', 'sndStored', 'sndTransfer',
    'sndWarning') AND (status != 'sndStored' OR transport != 'local');
CREATE TABLE kept (
    file INTEGER PRIMARY KEY,
    path TEXT NOT NULL,
    key BLOB NOT NULL,
    nonce BLOB NOT NULL
) STRICT;
CREATE INDEX unsettled_item ON item (id)
    WHERE (status IN ('sndTransfer', 'sndError', 'sndWarning', 'rcvAccepted', 'rcvTransfer',
    'rcvAborted', 'rcvWarning') OR status = 'sndStored' AND transport != 'local' OR status =
    'rcvError' AND coalesce(problem, '') NOT IN ('expired', 'neverUploaded', 'cancelledBySender',
    'blocked'));
CREATE INDEX leaving_item ON item (time, id)
    WHERE direction = 'received' AND transport = 'xftp' AND (status IN ('rcvInvitation',
    'rcvAccepted', 'rcvTransfer', 'rcvAborted', 'rcvWarning') OR status = 'rcvError' AND
    coalesce(problem, '') NOT IN ('expired', 'neverUploaded', 'cancelledBySender', 'blocked'));
CREATE TABLE identity (only INTEGER PRIMARY KEY CHECK (only = 1), text TEXT NOT NULL) STRICT;
CREATE TABLE place (only INTEGER PRIMARY KEY CHECK (only = 1), staging TEXT NOT NULL) STRICT;
