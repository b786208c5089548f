extension Schema {
    /// Connections with members of groups beside the host: `phase` holds the words of `MemberConnection.Phase`, `connection`
    /// is the agent's, `link` is to be joined. `begun` is how many a group has begun since `begun_since`. A
    /// `group_delivery` is one message that went to several members, until it is known what became of it with each.
    /// `held_outgoing` goes to a member when its row has the agent's connection. `problem` is why a request that was accepted is not answered yet.
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

    /// `announcer` passes on the link of a newcomer. `told` is when somebody was told last that the member's messages
    /// come directly.
    static let newcomers = """
        ALTER TABLE network_member ADD COLUMN announcer BLOB;
        ALTER TABLE member_connection ADD COLUMN told INTEGER;
        """
}
