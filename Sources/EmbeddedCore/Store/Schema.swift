import Store

/// Tables of a data directory. All profiles share one database, so that sender and recipients get a message
/// in one transaction.
///
/// Times are nanoseconds since 1970. `direction`, `kind`, `status` and `transport` hold words of the SimpleX
/// chat API. Ids are never reused (AUTOINCREMENT).
enum Schema {
    static let migrations = [
        Migration("chats", chats),
        Migration("transfers", transfers),
        Migration("managing", managing),
        Migration("links", links),
        Migration(
            "unsettled",
            """
            CREATE INDEX file_unsettled ON file (profile) WHERE \(isUnsettled);
            CREATE INDEX file_stored ON file (profile, stored_name) WHERE stored_name IS NOT NULL;
            CREATE INDEX file_described ON file (profile, status) WHERE description IS NOT NULL;
            """),
        Migration(
            "leaving", "CREATE INDEX file_leaving ON file (profile, expires, item) WHERE \(isLeaving)"),
        Migration("people", people),
        Migration("disappearing", disappearing),
        Migration("addresses", addresses),
        Migration("texts", texts),
        Migration("network", network),
        Migration("deliveries", deliveries),
        Migration("groups", groups, isFinal: true),
        Migration("membership", membership),
        Migration("retention", retention),
        Migration("inline transfers", inlineTransfers),
        Migration("announcing", announcing),
        Migration("taken over", "ALTER TABLE chat ADD COLUMN is_taken_over INTEGER NOT NULL DEFAULT 0"),
        Migration(
            "taken address", "ALTER TABLE contact_address ADD COLUMN is_taken_over INTEGER NOT NULL DEFAULT 0"
        ),
        Migration("new keys", "ALTER TABLE chat ADD COLUMN keys TEXT CHECK (keys IN ('awaited', 'agreed'))"),
        Migration("reasons", reasons),
        Migration("outbound", outbound),
        Migration("own clock", ownClock),
        // The other databases of the data directory.
        Migration("parts", "CREATE TABLE part (place TEXT PRIMARY KEY) STRICT, WITHOUT ROWID"),
        Migration("description parts", descriptionParts),
        Migration("unasked files", unasked),
        Migration("newcomers", newcomers),
        Migration("unasked files by the own clock", "DELETE FROM unasked_budget"),
        // Whether an item is visible to moderators only, and whether its sender has deleted it.
        Migration(
            "marks of items",
            """
            ALTER TABLE item ADD COLUMN is_for_moderators INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE item ADD COLUMN is_deleted_by_sender INTEGER NOT NULL DEFAULT 0;
            """),
        // Files that are kept as XFTP transferred them: where the content begins in the plaintext. NULL: all is content.
        Migration(
            "kept streams",
            """
            ALTER TABLE file ADD COLUMN content_offset INTEGER;
            ALTER TABLE damaged_copy ADD COLUMN content_offset INTEGER;
            ALTER TABLE damaged_copy ADD COLUMN content_size INTEGER;
            """),
    ]

    /// SQL condition: item files that are in transfer or failed temporarily. SQLite uses the partial index
    /// only for queries with the identical condition.
    static let isUnsettled = """
        item IS NOT NULL AND (status IN ('snd_transfer', 'snd_error', 'snd_warning', 'rcv_accepted', 'rcv_transfer', \
        'rcv_aborted', 'rcv_warning') OR status = 'snd_stored' AND transport != 'local' OR status = 'rcv_error' AND \
        coalesce(problem, '') NOT IN ('expired', 'neverUploaded', 'cancelledBySender', 'blocked'))
        """

    /// SQL condition: missing received files that relays will drop, with a partial index.
    static let isLeaving = """
        item IS NOT NULL AND expires IS NOT NULL AND (status IN ('rcv_invitation', 'rcv_accepted', 'rcv_transfer', \
        'rcv_aborted', 'rcv_warning') OR status = 'rcv_error' AND coalesce(problem, '') NOT IN ('expired', \
        'neverUploaded', 'cancelledBySender', 'blocked'))
        """

    /// Each `item` and `file` row belongs to one profile. A recipient's `origin` is the sender's item.
    private static let chats = """
        CREATE TABLE profile (
            id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, created INTEGER NOT NULL
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
            inline_content TEXT
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
        """

    /// `alias`: the user's name for a chat. `ended`: why it accepts no more messages (`StoredChatEnding`).
    private static let managing = """
        ALTER TABLE chat ADD COLUMN alias TEXT;
        ALTER TABLE chat ADD COLUMN ended TEXT;
        """

    /// `ttl`: seconds that new messages stay. `disappears`: a message's expiry.
    private static let disappearing = """
        ALTER TABLE chat ADD COLUMN ttl INTEGER;
        ALTER TABLE item ADD COLUMN disappears INTEGER;
        CREATE INDEX item_disappearing ON item (profile, disappears) WHERE disappears IS NOT NULL;
        """

    /// `handed_message`: messages passed to the agent, by its numbers (`HandedMessageTable`). `handed`: last
    /// recorded number. `outgoing.item`: item that fails with the message. `agent_receipt`: last agent event
    /// that needs a receipt.
    private static let deliveries = """
        ALTER TABLE item ADD COLUMN is_delivered INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE profile ADD COLUMN agent_receipt INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE outgoing ADD COLUMN item INTEGER;
        ALTER TABLE connection ADD COLUMN handed INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE handed_message (
            profile INTEGER NOT NULL REFERENCES profile,
            connection INTEGER NOT NULL,
            number INTEGER NOT NULL,
            shared_id BLOB,
            item INTEGER,
            outcome TEXT CHECK (outcome IN ('delivered', 'failed')),
            problem TEXT,
            noted INTEGER NOT NULL,
            PRIMARY KEY (profile, connection, number)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO handed_message (profile, connection, number, shared_id, item, noted)
            SELECT n.profile, n.number, m.sent_as, m.shared_id, m.item, m.time
            FROM shared_message m JOIN connection n ON n.chat = m.chat
            WHERE m.author = 'own' AND m.sent_as IS NOT NULL;
        UPDATE connection SET handed = coalesce((SELECT max(sent_as) FROM shared_message
            WHERE shared_message.chat = connection.chat), 0);
        """

    /// Chat logs. `position`: byte offset of the line. `shared_id`: message of the line. `request`:
    /// idempotency key.
    private static let texts = """
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
            UNIQUE (chat, position)
        ) STRICT;
        CREATE INDEX message_line_by_id ON message_line (chat, shared_id);
        CREATE UNIQUE INDEX message_line_by_request ON message_line (chat, request) WHERE request IS NOT NULL;
        CREATE INDEX message_line_by_item ON message_line (item) WHERE item IS NOT NULL;
        """

    /// `link_description`: sender description that deletes the link's own upload.
    private static let links = """
        ALTER TABLE file ADD COLUMN link_description TEXT;
        ALTER TABLE chunk_deletion ADD COLUMN link_description TEXT;
        """

    /// Network chats. `contact_name`: the contact's own name. `introduction`: its last `x.info`.
    /// `agent_event`: last processed agent event.
    ///
    /// `shared_message`: a message's shared id and the data needed later; `state` is null until the message
    /// itself arrives. `outgoing`: messages for the agent, in order.
    private static let people = """
        ALTER TABLE chat ADD COLUMN contact_name TEXT;
        ALTER TABLE profile ADD COLUMN agent_event INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE connection (
            profile INTEGER NOT NULL REFERENCES profile,
            number INTEGER NOT NULL,
            chat INTEGER UNIQUE,
            introduction BLOB,
            is_ended INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (profile, number)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE shared_message (
            chat INTEGER NOT NULL,
            author TEXT NOT NULL CHECK (author IN ('own', 'contact')),
            shared_id BLOB NOT NULL,
            item INTEGER,
            time INTEGER NOT NULL DEFAULT 0,
            state TEXT CHECK (state IN ('present', 'changed', 'deleted')),
            has_file INTEGER NOT NULL DEFAULT 0,
            is_seen INTEGER NOT NULL DEFAULT 0,
            description TEXT,
            parts INTEGER NOT NULL DEFAULT 0,
            is_described INTEGER NOT NULL DEFAULT 0,
            sent_as INTEGER,
            PRIMARY KEY (chat, author, shared_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX shared_message_by_item ON shared_message (item) WHERE item IS NOT NULL;
        CREATE TABLE outgoing (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            profile INTEGER NOT NULL REFERENCES profile,
            connection INTEGER NOT NULL,
            body BLOB NOT NULL,
            notifies INTEGER NOT NULL,
            shared_id BLOB,
            ends INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX outgoing_by_profile ON outgoing (profile, id);
        CREATE TABLE messaging_server (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            profile INTEGER NOT NULL REFERENCES profile,
            address TEXT NOT NULL,
            UNIQUE (profile, address)
        ) STRICT;
        """

    /// `accepts`: raw value of `RequestAcceptance`. `untold`: renamings since the link's data was updated.
    /// `failure`: why a handshake failed.
    ///
    /// `contact_request`: `asked` is the agent's id, `same_as` the requester's id, `message` its profile,
    /// `connection` the result.
    private static let addresses = """
        ALTER TABLE connection ADD COLUMN failure TEXT;
        CREATE TABLE contact_address (
            profile INTEGER PRIMARY KEY REFERENCES profile,
            connection INTEGER NOT NULL,
            link TEXT NOT NULL,
            accepts TEXT NOT NULL CHECK (accepts IN ('ask', 'automatically')),
            untold INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE TABLE contact_request (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            profile INTEGER NOT NULL REFERENCES profile,
            asked INTEGER NOT NULL,
            same_as BLOB,
            message BLOB NOT NULL,
            time INTEGER NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('waiting', 'accepted', 'rejected', 'joined')),
            connection INTEGER
        ) STRICT;
        CREATE INDEX contact_request_by_state ON contact_request (profile, state, id);
        """

    /// `disappears`: expiry of a line without an item. `author`: as in `shared_message`. `damaged_copy`: keys
    /// of the files in the folder `damaged`.
    private static let retention = """
        ALTER TABLE message_line ADD COLUMN author TEXT;
        ALTER TABLE message_line ADD COLUMN disappears INTEGER;
        CREATE INDEX message_line_disappearing ON message_line (disappears) WHERE disappears IS NOT NULL;
        CREATE TABLE damaged_copy (
            file INTEGER PRIMARY KEY,
            profile INTEGER NOT NULL REFERENCES profile,
            key BLOB NOT NULL,
            nonce BLOB NOT NULL
        ) STRICT;
        """

    /// Network settings with the raw values of `NetworkChoice`.
    private static let network = """
        ALTER TABLE profile ADD COLUMN proxy TEXT;
        ALTER TABLE profile ADD COLUMN routing TEXT NOT NULL DEFAULT 'never';
        ALTER TABLE profile ADD COLUMN routing_fallback TEXT NOT NULL DEFAULT 'protected';
        ALTER TABLE profile ADD COLUMN sends_receipts INTEGER NOT NULL DEFAULT 1;
        """

    /// Network groups. `connection`: connection to the host. `introduction`: last profile of the group or
    /// member. `refused`: why sending is impossible now (`StoredChatRefusal`).
    ///
    /// A request with a `chat` is that contact's group invitation. `early_message`: a host's message from
    /// before joining was stored. Authors of shared messages are `own`, `contact` or `member:` with an id.
    private static let groups = """
        ALTER TABLE chat ADD COLUMN refused TEXT;
        ALTER TABLE connection ADD COLUMN is_connected INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE contact_request ADD COLUMN chat INTEGER;
        CREATE TABLE network_group (
            chat INTEGER PRIMARY KEY,
            profile INTEGER NOT NULL REFERENCES profile,
            connection INTEGER NOT NULL,
            own_id BLOB NOT NULL,
            own_role TEXT NOT NULL,
            host_id BLOB NOT NULL,
            introduction BLOB NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('waiting', 'joined', 'ended')),
            UNIQUE (profile, connection)
        ) STRICT;
        CREATE TABLE network_member (
            chat INTEGER NOT NULL,
            member BLOB NOT NULL,
            role TEXT NOT NULL,
            introduction BLOB NOT NULL,
            status TEXT NOT NULL,
            is_blocked INTEGER NOT NULL,
            PRIMARY KEY (chat, member)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE early_message (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            profile INTEGER NOT NULL REFERENCES profile,
            connection INTEGER NOT NULL,
            body BLOB NOT NULL,
            time INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE authored_message (
            chat INTEGER NOT NULL,
            author TEXT NOT NULL,
            shared_id BLOB NOT NULL,
            item INTEGER,
            time INTEGER NOT NULL DEFAULT 0,
            state TEXT CHECK (state IN ('present', 'changed', 'deleted')),
            has_file INTEGER NOT NULL DEFAULT 0,
            is_seen INTEGER NOT NULL DEFAULT 0,
            description TEXT,
            parts INTEGER NOT NULL DEFAULT 0,
            is_described INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (chat, author, shared_id)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO authored_message (chat, author, shared_id, item, time, state, has_file, is_seen, description, parts,
            is_described)
            SELECT chat, author, shared_id, item, time, state, has_file, is_seen, description, parts, is_described
            FROM shared_message;
        DROP TABLE shared_message;
        ALTER TABLE authored_message RENAME TO shared_message;
        CREATE INDEX shared_message_by_item ON shared_message (item) WHERE item IS NOT NULL;
        """

    /// `recipients`: number of descriptions of an upload. `recipient`: index of this file's description, from
    /// 0. `plain_path` and `link`: standalone transfers. `to_receive`: raw value of `AutomaticReception`.
    private static let transfers = """
        ALTER TABLE profile ADD COLUMN relay_policy TEXT NOT NULL DEFAULT 'ask';
        ALTER TABLE file ADD COLUMN recipients INTEGER;
        ALTER TABLE file ADD COLUMN recipient INTEGER;
        ALTER TABLE file ADD COLUMN description TEXT;
        ALTER TABLE file ADD COLUMN sender_description TEXT;
        ALTER TABLE file ADD COLUMN upload_state BLOB;
        ALTER TABLE file ADD COLUMN to_receive INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE file ADD COLUMN approved INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE file ADD COLUMN plain_path TEXT;
        ALTER TABLE file ADD COLUMN link TEXT;
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
            PRIMARY KEY (profile, fingerprint, host, port)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE chunk_deletion (
            file INTEGER PRIMARY KEY,
            profile INTEGER NOT NULL REFERENCES profile,
            sender_description TEXT,
            upload_state BLOB,
            created INTEGER NOT NULL
        ) STRICT;
        """
}
