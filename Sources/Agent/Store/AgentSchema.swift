import Store

/// Database schema of a profile's connections. All contents are secret.
enum AgentSchema {
    static let migrations = [
        Migration("connections", connections), Migration("since when", sinceWhen),
        Migration("confirmed", confirmed), Migration("reasons", reasons),
        Migration("own clock", ownClock),
    ]

    /// `reason`: the application's note of a connection. Older connections get one by their origin: a joined
    /// link has left its hash, but the owner of a joined address is unknown.
    private static let reasons = """
        ALTER TABLE connection ADD COLUMN reason TEXT;
        UPDATE connection SET reason = CASE
            WHEN phase = 'address' THEN 'own address'
            WHEN link_hash IS NOT NULL AND phase = 'joining' THEN 'given invitation'
            WHEN link_hash IS NOT NULL THEN 'given address unknown'
            WHEN phase = 'joining' OR id IN (SELECT accepted FROM contact_request) THEN 'requester'
            ELSE 'own invitation' END;
        """

    /// `elapsed_time`: the last reading of the boot clock and the total time elapsed by then. All expiry uses
    /// it. Times stored by other clocks restart from 0, so that nothing expires early.
    ///
    /// `required_security`: see `ConnectionState.requiredSecurity`.
    ///
    /// `refusals`, `refused_since`: number and start of consecutive refusals of the server; null after an
    /// accepted message.
    private static let ownClock = """
        \(StoredClock.schema)
        UPDATE received SET time = 0;
        UPDATE identifier SET time = 0;
        UPDATE unconfirmed SET time = 0;
        UPDATE opened_link SET time = 0;
        UPDATE outgoing SET waits_since = 0 WHERE waits_since IS NOT NULL;
        UPDATE outgoing SET full_since = 0 WHERE full_since IS NOT NULL;
        UPDATE connection SET moves = zeroblob(min(length(moves), 80)),
            agreements = zeroblob(min(length(agreements), 24));
        UPDATE connection SET confirmed = 0 WHERE confirmed IS NOT NULL;
        ALTER TABLE connection ADD COLUMN required_security BLOB;
        ALTER TABLE sending_queue ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE sending_queue ADD COLUMN refused_since INTEGER;
        """

    /// `confirmed`: time when a server accepted the joiner's confirmation.
    private static let confirmed = "ALTER TABLE connection ADD COLUMN confirmed INTEGER"

    /// `waits_since`: the later of submission and connection; null until the connection is established.
    private static let sinceWhen = """
        ALTER TABLE outgoing ADD COLUMN waits_since INTEGER;
        UPDATE outgoing SET waits_since = first_tried;
        ALTER TABLE connection ADD COLUMN moves BLOB NOT NULL DEFAULT x'';
        ALTER TABLE connection ADD COLUMN agreements BLOB NOT NULL DEFAULT x'';
        """

    private static let connections = """
        CREATE TABLE connection (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            phase TEXT NOT NULL,
            agent_version INTEGER NOT NULL,
            information BLOB NOT NULL,
            offered_keys BLOB,
            joiners_parameters BLOB,
            ratchet BLOB,
            last_sent INTEGER NOT NULL,
            last_sent_hash BLOB NOT NULL,
            last_received INTEGER NOT NULL,
            last_received_hash BLOB NOT NULL,
            synchronisation TEXT NOT NULL,
            synchronisation_keys BLOB,
            answers_ready INTEGER NOT NULL,
            used_keys BLOB NOT NULL,
            -- SHA-256 of the link that was joined.
            link_hash BLOB UNIQUE
        ) STRICT;
        CREATE TABLE receiving_queue (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            connection INTEGER NOT NULL REFERENCES connection (id) ON DELETE CASCADE,
            server TEXT NOT NULL,
            mode TEXT NOT NULL,
            status TEXT NOT NULL,
            authorization_seed BLOB NOT NULL,
            box_key BLOB NOT NULL,
            queue_key BLOB NOT NULL,
            recipient_id BLOB NOT NULL,
            sender_id BLOB NOT NULL,
            server_box_key BLOB NOT NULL,
            sender_key BLOB,
            key_to_secure BLOB,
            is_replacement INTEGER NOT NULL,
            is_taken_over INTEGER NOT NULL,
            link_kind TEXT,
            link_id BLOB,
            link_key BLOB,
            link_root BLOB,
            link_fixed BLOB
        ) STRICT;
        CREATE INDEX receiving_queue_of_connection ON receiving_queue (connection);
        CREATE INDEX receiving_queue_of_server ON receiving_queue (recipient_id);
        CREATE TABLE sending_queue (
            id INTEGER PRIMARY KEY,
            connection INTEGER NOT NULL REFERENCES connection (id) ON DELETE CASCADE,
            server TEXT NOT NULL,
            sender_id BLOB NOT NULL,
            recipient_key BLOB NOT NULL,
            mode TEXT NOT NULL,
            version INTEGER NOT NULL,
            use TEXT NOT NULL,
            authorization_seed BLOB NOT NULL,
            queue_key BLOB NOT NULL,
            is_secured INTEGER NOT NULL,
            is_gone INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX sending_queue_of_connection ON sending_queue (connection);
        CREATE TABLE outgoing (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            connection INTEGER NOT NULL REFERENCES connection (id) ON DELETE CASCADE,
            kind TEXT NOT NULL,
            content BLOB NOT NULL,
            notifies INTEGER NOT NULL,
            is_urgent INTEGER NOT NULL,
            -- Whether the application sent it, and is told what becomes of it.
            is_body INTEGER NOT NULL,
            -- From here on once it is encrypted, so that it is the same however often it is sent.
            message_number INTEGER,
            hash BLOB,
            envelope BLOB,
            nonce BLOB,
            -- When it was tried for the first time, and when its queue was full for the first time.
            first_tried INTEGER,
            full_since INTEGER
        ) STRICT;
        CREATE INDEX outgoing_in_turn ON outgoing (connection, is_urgent DESC, number);
        -- What was sent and no receipt has come of.
        CREATE TABLE unconfirmed (
            connection INTEGER NOT NULL REFERENCES connection (id) ON DELETE CASCADE,
            message_number INTEGER NOT NULL,
            number INTEGER NOT NULL,
            hash BLOB NOT NULL,
            time INTEGER NOT NULL,
            PRIMARY KEY (connection, message_number)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX unconfirmed_by_time ON unconfirmed (time);
        CREATE TABLE identifier (
            connection INTEGER NOT NULL REFERENCES connection (id) ON DELETE CASCADE,
            identifier BLOB NOT NULL,
            number INTEGER NOT NULL,
            time INTEGER NOT NULL,
            PRIMARY KEY (connection, identifier)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX identifier_by_time ON identifier (time);
        CREATE TABLE received (
            connection INTEGER NOT NULL REFERENCES connection (id) ON DELETE CASCADE,
            hash BLOB NOT NULL,
            time INTEGER NOT NULL,
            PRIMARY KEY (connection, hash)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX received_by_time ON received (time);
        -- It outlives its connection.
        CREATE TABLE event (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            connection INTEGER NOT NULL,
            kind TEXT NOT NULL,
            subject INTEGER,
            body BLOB,
            detail TEXT,
            time INTEGER,
            first_missing INTEGER,
            last_missing INTEGER,
            message_number INTEGER,
            hash BLOB
        ) STRICT;
        CREATE TABLE contact_request (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            address INTEGER NOT NULL REFERENCES connection (id) ON DELETE CASCADE,
            link TEXT NOT NULL,
            -- The connection, once it was accepted.
            accepted INTEGER REFERENCES connection (id) ON DELETE SET NULL
        ) STRICT;
        -- Keys with which one-time links were opened, by SHA-256 of the link.
        CREATE TABLE opened_link (
            hash BLOB PRIMARY KEY,
            seed BLOB NOT NULL,
            time INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """
}
