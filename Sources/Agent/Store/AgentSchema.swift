import Store

/// Database schema of a profile's connections. All contents are secret.
enum AgentSchema {
    static let migrations = [
        Migration(
            "connections 0.1", connections, replaces: DevelopmentSchema(steps: 5, last: "own clock")),
        // The start of the first status that leaves the server (`ReceivingQueue.leavesSince`).
        Migration(
            "leaving queues",
            """
            ALTER TABLE receiving_queue ADD COLUMN leaves_since INTEGER;
            UPDATE receiving_queue SET leaves_since = coalesce((SELECT time FROM elapsed_time), 0)
            WHERE status IN ('suspending', 'draining', 'deleting');
            """),
    ]

    /// All expiry uses the boot clock of `StoredClock`.
    ///
    /// * `connection`: `link_hash` is the SHA-256 of the joined link. `confirmed`: time when a server accepted the
    ///   joiner's confirmation. `reason`: the application's note. `required_security`: see
    ///   `ConnectionState.requiredSecurity`.
    /// * `sending_queue`: `refusals`, `refused_since`: number and start of consecutive refusals of the server; null
    ///   after an accepted message.
    /// * `outgoing`: `is_body`: the application sent it and gets its result. `message_number` to `nonce` are set with
    ///   the encryption, so that every try sends the same bytes. `waits_since`: the later of submission and connection;
    ///   null until the connection is established. `first_tried`, `full_since`: times of the first try and of the first
    ///   full queue.
    /// * `unconfirmed`: sent messages without a receipt.
    /// * `event`: outlives its connection.
    /// * `contact_request`: `accepted` is its connection.
    /// * `opened_link`: keys with which one-time links were opened, by SHA-256 of the link. `time`: last use.
    private static let connections = """
        \(StoredClock.schema)
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
            link_hash BLOB UNIQUE,
            moves BLOB NOT NULL DEFAULT x'',
            agreements BLOB NOT NULL DEFAULT x'',
            confirmed INTEGER,
            reason TEXT,
            required_security BLOB
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
            is_gone INTEGER NOT NULL,
            refusals INTEGER NOT NULL DEFAULT 0,
            refused_since INTEGER
        ) STRICT;
        CREATE INDEX sending_queue_of_connection ON sending_queue (connection);
        CREATE TABLE outgoing (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            connection INTEGER NOT NULL REFERENCES connection (id) ON DELETE CASCADE,
            kind TEXT NOT NULL,
            content BLOB NOT NULL,
            notifies INTEGER NOT NULL,
            is_urgent INTEGER NOT NULL,
            is_body INTEGER NOT NULL,
            message_number INTEGER,
            hash BLOB,
            envelope BLOB,
            nonce BLOB,
            first_tried INTEGER,
            full_since INTEGER,
            waits_since INTEGER
        ) STRICT;
        CREATE INDEX outgoing_in_turn ON outgoing (connection, is_urgent DESC, number);
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
            accepted INTEGER REFERENCES connection (id) ON DELETE SET NULL
        ) STRICT;
        CREATE TABLE opened_link (
            hash BLOB PRIMARY KEY,
            seed BLOB NOT NULL,
            time INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """
}
