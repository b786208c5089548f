extension Schema {
    /// People on the network and messages for the agent.
    ///
    /// * `connection`: `introduction` is the last `x.info` of the peer, or the last profile of a group or member.
    ///   `handed`: last recorded number of a message. `failure`: why a handshake failed. `reason`:
    ///   `ConnectionReason`.
    /// * `contact_address`: `accepts` is the raw value of `RequestAcceptance`. `untold`: renamings since the link's
    ///   data was updated.
    /// * `contact_request`: `asked` is the agent's id, `same_as` the requester's id, `message` its profile,
    ///   `connection` the result, `accepted` the time of an automatic acceptance, `problem` why an accepted request is
    ///   not answered yet. With a `chat` it is that contact's group invitation.
    /// * `early_message`: a host's message from before joining was stored.
    /// * `outgoing`: messages for the agent, in order. `item` fails with the message. `announces`: see
    ///   `file.is_announced`.
    /// * `handed_message`: messages passed to the agent, by its numbers (`HandedMessageTable`). The outcome `sent` may
    ///   come before the message's number is recorded.
    /// * `shared_message`: a message's shared id and the data needed later. Authors are `own`, `contact` or `member:`
    ///   with an id. `state` is null until the message itself arrives. `description_length`: bytes of all parts.
    static let network = """
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

        CREATE TABLE messaging_server (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            profile INTEGER NOT NULL REFERENCES profile,
            address TEXT NOT NULL,
            UNIQUE (profile, address)
        ) STRICT;

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

        CREATE TABLE early_message (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            profile INTEGER NOT NULL REFERENCES profile,
            connection INTEGER NOT NULL,
            body BLOB NOT NULL,
            time INTEGER NOT NULL
        ) STRICT;

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

        CREATE TABLE handed_message (
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

        CREATE TABLE shared_message (
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
        CREATE INDEX shared_message_waiting ON shared_message (chat, author) WHERE \(isWaiting);
        CREATE INDEX shared_message_shown ON shared_message (chat, author) WHERE item IS NOT NULL;

        CREATE TABLE description_part (
            chat INTEGER NOT NULL,
            author TEXT NOT NULL,
            shared_id BLOB NOT NULL,
            number INTEGER NOT NULL,
            text TEXT NOT NULL,
            UNIQUE (chat, author, shared_id, number),
            FOREIGN KEY (chat, author, shared_id) REFERENCES shared_message ON DELETE CASCADE
        ) STRICT;
        """
}
