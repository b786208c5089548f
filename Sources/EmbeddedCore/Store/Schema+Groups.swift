extension Schema {
    /// Network groups.
    ///
    /// * `network_group`: `connection` leads to the host. `introduction`: last profile of the group. `begun`:
    ///   connections started by the group since `begun_since`. `is_full`, of a later migration: the group has the
    ///   maximum number of members.
    /// * `network_member`: `announcer` is the member that forwards a newcomer's link.
    /// * `member_connection`: a connection with a member other than the host. `phase`: raw value of
    ///   `MemberConnection.Phase`. `connection`: the agent's id. `link`: to be joined. `told`: last report that the
    ///   member's messages arrive directly.
    /// * `group_delivery`: a message to several members until each result is known. `held_outgoing`: messages to a
    ///   member until the agent's id is stored.
    static let groups = """
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
        """
}
