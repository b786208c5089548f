INSERT INTO schema_version (number, name) VALUES
    (1, 'chats'),
    (2, 'transfers'),
    (3, 'managing'),
    (4, 'links'),
    (5, 'unsettled'),
    (6, 'leaving'),
    (7, 'people'),
    (8, 'disappearing'),
    (9, 'addresses'),
    (10, 'texts'),
    (11, 'network'),
    (12, 'deliveries'),
    (13, 'groups'),
    (14, 'membership'),
    (15, 'retention'),
    (16, 'inline transfers'),
    (17, 'announcing'),
    (18, 'taken over'),
    (19, 'taken address'),
    (20, 'new keys'),
    (21, 'reasons'),
    (22, 'outbound'),
    (23, 'own clock'),
    (24, 'parts'),
    (25, 'description parts'),
    (26, 'unasked files'),
    (27, 'newcomers'),
    (28, 'unasked files by the own clock'),
    (29, 'marks of items'),
    (30, 'kept streams');
CREATE TABLE profile (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, created INTEGER NOT NULL,
    relay_policy TEXT NOT NULL DEFAULT 'ask',
    agent_event INTEGER NOT NULL DEFAULT 0,
    proxy TEXT,
    routing TEXT NOT NULL DEFAULT 'never',
    routing_fallback TEXT NOT NULL DEFAULT 'protected',
    sends_receipts INTEGER NOT NULL DEFAULT 1,
    agent_receipt INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE chat_group (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, created INTEGER NOT NULL
) STRICT;
CREATE TABLE member (
    chat_group INTEGER NOT NULL REFERENCES chat_group,
    profile INTEGER NOT NULL REFERENCES profile,
    role TEXT NOT NULL CHECK (role IN ('owner', 'member')),
    PRIMARY KEY (chat_group, profile)
) STRICT, WITHOUT ROWID;
CREATE TABLE chat (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    profile INTEGER NOT NULL REFERENCES profile,
    kind TEXT NOT NULL CHECK (kind IN ('direct', 'group', 'notes')),
    contact INTEGER REFERENCES profile,
    chat_group INTEGER REFERENCES chat_group,
    updated INTEGER NOT NULL,
    alias TEXT,
    ended TEXT,
    contact_name TEXT,
    ttl INTEGER,
    refused TEXT,
    is_taken_over INTEGER NOT NULL DEFAULT 0,
    keys TEXT CHECK (keys IN ('awaited', 'agreed')),
    is_refused INTEGER NOT NULL DEFAULT 0,
    verification TEXT NOT NULL DEFAULT 'unverified'
    CHECK (verification IN ('unverified', 'verified', 'revoked')),
    verified_code TEXT,
    requires_verification INTEGER NOT NULL DEFAULT 0,
    UNIQUE (profile, contact), UNIQUE (profile, chat_group)
) STRICT;
CREATE UNIQUE INDEX one_note_folder ON chat (profile) WHERE kind = 'notes';
CREATE TABLE item (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    profile INTEGER NOT NULL REFERENCES profile,
    chat INTEGER NOT NULL REFERENCES chat,
    origin INTEGER,
    message_id TEXT,
    direction TEXT NOT NULL CHECK (direction IN ('sent', 'received')),
    sender TEXT NOT NULL,
    time INTEGER NOT NULL,
    created INTEGER NOT NULL,
    kind TEXT NOT NULL,
    preview TEXT NOT NULL,
    seconds INTEGER NOT NULL,
    text TEXT NOT NULL,
    disappears INTEGER,
    is_delivered INTEGER NOT NULL DEFAULT 0,
    is_for_moderators INTEGER NOT NULL DEFAULT 0,
    is_deleted_by_sender INTEGER NOT NULL DEFAULT 0,
    UNIQUE (profile, message_id)
) STRICT;
CREATE INDEX item_by_chat ON item (chat, id);
CREATE INDEX item_by_origin ON item (origin) WHERE origin IS NOT NULL;
CREATE TABLE file (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    profile INTEGER NOT NULL REFERENCES profile,
    item INTEGER UNIQUE REFERENCES item ON DELETE CASCADE,
    name TEXT NOT NULL,
    size INTEGER NOT NULL,
    transport TEXT NOT NULL,
    status TEXT NOT NULL,
    problem TEXT,
    problem_sentence TEXT,
    stored_name TEXT,
    key BLOB,
    nonce BLOB,
    created INTEGER NOT NULL,
    expires INTEGER,
    inline_content TEXT,
    recipients INTEGER,
    recipient INTEGER,
    description TEXT,
    sender_description TEXT,
    upload_state BLOB,
    to_receive INTEGER NOT NULL DEFAULT 0,
    approved INTEGER NOT NULL DEFAULT 0,
    plain_path TEXT,
    link TEXT,
    link_description TEXT,
    is_announced INTEGER NOT NULL DEFAULT 1,
    content_offset INTEGER
) STRICT;
CREATE INDEX file_on_its_way ON file (profile) WHERE inline_content IS NOT NULL;
CREATE TABLE news (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    profile INTEGER NOT NULL REFERENCES profile,
    kind TEXT NOT NULL,
    chat INTEGER NOT NULL,
    item INTEGER,
    stored_name TEXT
) STRICT;
CREATE INDEX news_by_profile ON news (profile, id);
CREATE INDEX file_by_status ON file (profile, status);
CREATE TABLE relay (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    profile INTEGER NOT NULL REFERENCES profile,
    address TEXT NOT NULL,
    password TEXT,
    UNIQUE (profile, address)
) STRICT;
CREATE TABLE approval (
    profile INTEGER NOT NULL REFERENCES profile,
    fingerprint BLOB NOT NULL,
    host TEXT NOT NULL,
    port INTEGER NOT NULL,
    protocol TEXT NOT NULL DEFAULT 'xftp' CHECK (protocol IN ('xftp', 'smp')),
    PRIMARY KEY (profile, fingerprint, host, port)
) STRICT, WITHOUT ROWID;
CREATE TABLE chunk_deletion (
    file INTEGER PRIMARY KEY,
    profile INTEGER NOT NULL REFERENCES profile,
    sender_description TEXT,
    upload_state BLOB,
    created INTEGER NOT NULL,
    link_description TEXT
) STRICT;
CREATE INDEX file_unsettled ON file (profile)
    WHERE item IS NOT NULL AND (status IN ('snd_transfer', 'snd_error', 'snd_warning', 'rcv_accepted',
    'rcv_transfer', 'rcv_aborted', 'rcv_warning') OR status = 'snd_stored' AND transport != 'local' OR
    status = 'rcv_error' AND coalesce(problem, '') NOT IN ('expired', 'neverUploaded',
    'cancelledBySender', 'blocked'));
CREATE INDEX file_stored ON file (profile, stored_name) WHERE stored_name IS NOT NULL;
CREATE INDEX file_described ON file (profile, status) WHERE description IS NOT NULL;
CREATE INDEX file_leaving ON file (profile, expires, item)
    WHERE item IS NOT NULL AND expires IS NOT NULL AND (status IN ('rcv_invitation', 'rcv_accepted',
    'rcv_transfer', 'rcv_aborted', 'rcv_warning') OR status = 'rcv_error' AND coalesce(problem, '')
    NOT IN ('expired', 'neverUploaded', 'cancelledBySender', 'blocked'));
CREATE TABLE connection (
    profile INTEGER NOT NULL REFERENCES profile,
    number INTEGER NOT NULL,
    chat INTEGER UNIQUE,
    introduction BLOB,
    is_ended INTEGER NOT NULL DEFAULT 0,
    failure TEXT,
    handed INTEGER NOT NULL DEFAULT 0,
    is_connected INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    PRIMARY KEY (profile, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE outgoing (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    profile INTEGER NOT NULL REFERENCES profile,
    connection INTEGER NOT NULL,
    body BLOB NOT NULL,
    notifies INTEGER NOT NULL,
    shared_id BLOB,
    ends INTEGER NOT NULL,
    item INTEGER,
    delivery INTEGER,
    announces INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX outgoing_by_profile ON outgoing (profile, id);
CREATE TABLE messaging_server (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    profile INTEGER NOT NULL REFERENCES profile,
    address TEXT NOT NULL,
    UNIQUE (profile, address)
) STRICT;
CREATE INDEX item_disappearing ON item (profile, disappears) WHERE disappears IS NOT NULL;
CREATE TABLE contact_address (
    profile INTEGER PRIMARY KEY REFERENCES profile,
    connection INTEGER NOT NULL,
    link TEXT NOT NULL,
    accepts TEXT NOT NULL CHECK (accepts IN ('ask', 'automatically')),
    untold INTEGER NOT NULL DEFAULT 0,
    is_taken_over INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE contact_request (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    profile INTEGER NOT NULL REFERENCES profile,
    asked INTEGER NOT NULL,
    same_as BLOB,
    message BLOB NOT NULL,
    time INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'accepted', 'rejected', 'joined')),
    connection INTEGER,
    chat INTEGER,
    problem TEXT,
    accepted INTEGER
) STRICT;
CREATE INDEX contact_request_by_state ON contact_request (profile, state, id);
CREATE TABLE message_line (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    chat INTEGER NOT NULL,
    position INTEGER NOT NULL,
    line BLOB NOT NULL,
    event TEXT NOT NULL,
    shared_id BLOB NOT NULL,
    item INTEGER,
    request TEXT,
    written INTEGER NOT NULL,
    author TEXT,
    disappears INTEGER,
    UNIQUE (chat, position)
) STRICT;
CREATE INDEX message_line_by_id ON message_line (chat, shared_id);
CREATE UNIQUE INDEX message_line_by_request ON message_line (chat, request) WHERE request IS NOT NULL;
CREATE INDEX message_line_by_item ON message_line (item) WHERE item IS NOT NULL;
CREATE TABLE network_group (
    chat INTEGER PRIMARY KEY,
    profile INTEGER NOT NULL REFERENCES profile,
    connection INTEGER NOT NULL,
    own_id BLOB NOT NULL,
    own_role TEXT NOT NULL,
    host_id BLOB NOT NULL,
    introduction BLOB NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'joined', 'ended')),
    begun INTEGER NOT NULL DEFAULT 0,
    begun_since INTEGER NOT NULL DEFAULT 0,
    UNIQUE (profile, connection)
) STRICT;
CREATE TABLE network_member (
    chat INTEGER NOT NULL,
    member BLOB NOT NULL,
    role TEXT NOT NULL,
    introduction BLOB NOT NULL,
    status TEXT NOT NULL,
    is_blocked INTEGER NOT NULL,
    announcer BLOB,
    PRIMARY KEY (chat, member)
) STRICT, WITHOUT ROWID;
CREATE TABLE early_message (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    profile INTEGER NOT NULL REFERENCES profile,
    connection INTEGER NOT NULL,
    body BLOB NOT NULL,
    time INTEGER NOT NULL
) STRICT;
CREATE TABLE "shared_message" (
    chat INTEGER NOT NULL,
    author TEXT NOT NULL,
    shared_id BLOB NOT NULL,
    item INTEGER,
    time INTEGER NOT NULL DEFAULT 0,
    state TEXT CHECK (state IN ('present', 'changed', 'deleted')),
    has_file INTEGER NOT NULL DEFAULT 0,
    is_seen INTEGER NOT NULL DEFAULT 0,
    parts INTEGER NOT NULL DEFAULT 0,
    is_described INTEGER NOT NULL DEFAULT 0,
    description_length INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (chat, author, shared_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX shared_message_by_item ON shared_message (item) WHERE item IS NOT NULL;
CREATE TABLE member_connection (
    profile INTEGER NOT NULL REFERENCES profile,
    chat INTEGER NOT NULL,
    member BLOB NOT NULL,
    introducer BLOB NOT NULL,
    phase TEXT NOT NULL,
    connection INTEGER,
    link TEXT,
    since INTEGER NOT NULL,
    told INTEGER,
    PRIMARY KEY (chat, member)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX member_connection_by_number ON member_connection (profile, connection)
    WHERE connection IS NOT NULL;
CREATE INDEX member_connection_by_phase ON member_connection (profile, phase);
CREATE TABLE group_delivery (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    chat INTEGER NOT NULL,
    shared_id BLOB,
    item INTEGER,
    awaited INTEGER NOT NULL,
    delivered INTEGER NOT NULL DEFAULT 0,
    problem TEXT,
    sent INTEGER NOT NULL
) STRICT;
CREATE INDEX group_delivery_by_chat ON group_delivery (chat);
CREATE TABLE held_outgoing (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    chat INTEGER NOT NULL,
    member BLOB NOT NULL,
    body BLOB NOT NULL,
    notifies INTEGER NOT NULL
) STRICT;
CREATE INDEX held_outgoing_by_member ON held_outgoing (chat, member, id);
CREATE INDEX message_line_disappearing ON message_line (disappears) WHERE disappears IS NOT NULL;
CREATE TABLE damaged_copy (
    file INTEGER PRIMARY KEY,
    profile INTEGER NOT NULL REFERENCES profile,
    key BLOB NOT NULL,
    nonce BLOB NOT NULL,
    content_offset INTEGER,
    content_size INTEGER
) STRICT;
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
CREATE TABLE "handed_message" (
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
CREATE TABLE refused_server (
    profile INTEGER NOT NULL REFERENCES profile,
    address TEXT NOT NULL,
    time INTEGER NOT NULL,
    PRIMARY KEY (profile, address)
) STRICT, WITHOUT ROWID;
CREATE TABLE elapsed_time (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    boot TEXT NOT NULL,
    reading INTEGER NOT NULL,
    time INTEGER NOT NULL
) STRICT;
CREATE TABLE part (place TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE description_part (
    chat INTEGER NOT NULL,
    author TEXT NOT NULL,
    shared_id BLOB NOT NULL,
    number INTEGER NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (chat, author, shared_id, number),
    FOREIGN KEY (chat, author, shared_id) REFERENCES shared_message ON DELETE CASCADE
) STRICT;
CREATE INDEX shared_message_waiting ON shared_message (chat, author)
    WHERE parts > 0 AND has_file = 0 AND coalesce(state, 'changed') = 'changed';
CREATE INDEX shared_message_shown ON shared_message (chat, author) WHERE item IS NOT NULL;
CREATE INDEX file_within_messages ON file (profile)
    WHERE transport = 'smp' AND inline_content IS NULL AND status IN ('rcv_invitation', 'rcv_aborted',
    'rcv_accepted', 'rcv_transfer', 'rcv_warning');
CREATE TABLE unasked_budget (
    chat INTEGER NOT NULL,
    author TEXT NOT NULL,
    since INTEGER NOT NULL,
    files INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (chat, author)
) STRICT, WITHOUT ROWID;
