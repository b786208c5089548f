extension Schema {
    /// Connections with group members other than the host. `phase`: raw value of `MemberConnection.Phase`.
    /// `connection`: the agent's id. `link`: to be joined. `begun`: connections started by the group since
    /// `begun_since`.
    ///
    /// `group_delivery`: a message to several members until each result is known. `held_outgoing`: messages
    /// to a member until the agent's id is stored. `problem`: why an accepted request is not answered yet.
    static let membership = """
        CREATE TABLE member_connection (
            profile INTEGER NOT NULL REFERENCES profile,
            chat INTEGER NOT NULL,
            member BLOB NOT NULL,
            introducer BLOB NOT NULL,
            phase TEXT NOT NULL,
            connection INTEGER,
            link TEXT,
            since INTEGER NOT NULL,
            PRIMARY KEY (chat, member)
        ) STRICT, WITHOUT ROWID;
        CREATE UNIQUE INDEX member_connection_by_number ON member_connection (profile, connection)
            WHERE connection IS NOT NULL;
        CREATE INDEX member_connection_by_phase ON member_connection (profile, phase);
        ALTER TABLE network_group ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE network_group ADD COLUMN begun_since INTEGER NOT NULL DEFAULT 0;
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
        ALTER TABLE outgoing ADD COLUMN delivery INTEGER;
        ALTER TABLE handed_message ADD COLUMN delivery INTEGER;
        ALTER TABLE contact_request ADD COLUMN problem TEXT;
        """

    /// `announcer`: member that forwards a newcomer's link. `told`: last report that the member's messages
    /// arrive directly.
    static let newcomers = """
        ALTER TABLE network_member ADD COLUMN announcer BLOB;
        ALTER TABLE member_connection ADD COLUMN told INTEGER;
        """
}
