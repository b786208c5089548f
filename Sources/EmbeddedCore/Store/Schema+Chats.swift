extension Schema {
    /// Profiles, their chats and messages.
    ///
    /// * `profile`: network settings with the raw values of `NetworkChoice`. `agent_event`: last processed event of
    ///   the agent. `agent_receipt`: last one that needs a receipt.
    /// * `chat`: `alias` is the user's name, `contact_name` the contact's own. `ended`: why it accepts no more
    ///   messages (`StoredChatEnding`). `refused`: why sending is impossible now (`StoredChatRefusal`). `ttl`:
    ///   seconds that new messages stay. `is_refused`: the contact's server refuses messages, which are retried.
    ///   `verified_code`: the verified security code; cleared when `verification` becomes `revoked`.
    ///   `requires_verification`: sending needs a verification of the current keys.
    /// * `item`: belongs to one profile. A recipient's `origin` is the sender's item. `disappears`: its expiry.
    /// * `message_line`: lines of chat logs. `position`: byte offset. `shared_id` and `author`: as in
    ///   `shared_message`. `request`: idempotency key. `disappears`: expiry of a line without an item.
    static let chats = """
        CREATE TABLE profile (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL UNIQUE,
            created INTEGER NOT NULL,
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
        CREATE INDEX item_disappearing ON item (profile, disappears) WHERE disappears IS NOT NULL;

        CREATE TABLE news (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            profile INTEGER NOT NULL REFERENCES profile,
            kind TEXT NOT NULL,
            chat INTEGER NOT NULL,
            item INTEGER,
            stored_name TEXT
        ) STRICT;
        CREATE INDEX news_by_profile ON news (profile, id);

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
        CREATE INDEX message_line_disappearing ON message_line (disappears) WHERE disappears IS NOT NULL;
        """
}
