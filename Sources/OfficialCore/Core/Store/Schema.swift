import Store

/// The index of a profile's files. It can be rebuilt from the core, so it need not survive a power cut. It
/// holds no descriptions, and no keys except those of copies that only ChatFS has. Running sends and these
/// copies are written by durable transactions.
enum Schema {
    /// Condition for items with a running transfer. They are few, queried every ten seconds, and have an
    /// index of their own, which SQLite uses for queries with exactly this condition. Notes are never
    /// transferred.
    static let isMoving = """
        status IN ('rcvAccepted', 'rcvTransfer', 'rcvWarning', 'sndStored', 'sndTransfer', 'sndWarning') \
        AND (status != 'sndStored' OR transport != 'local')
        """

    static let migrations = [
        Migration(
            "index",
            """
            CREATE TABLE chat (
                chat TEXT PRIMARY KEY,
                name TEXT NOT NULL,
                updated INTEGER NOT NULL,
                refused TEXT,
                gone INTEGER NOT NULL DEFAULT 0,
                listed INTEGER NOT NULL DEFAULT 0
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
                sealed INTEGER NOT NULL
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
                size INTEGER NOT NULL
            ) STRICT;
            """),
        Migration("moving", "CREATE INDEX moving_item ON item (id) WHERE \(isMoving)"),
        Migration(
            "kept",
            """
            CREATE TABLE kept (
                file INTEGER PRIMARY KEY, path TEXT NOT NULL, key BLOB NOT NULL, nonce BLOB NOT NULL) STRICT;
            """),
        Migration("disappearing", "ALTER TABLE item ADD COLUMN disappears INTEGER NOT NULL DEFAULT 0"),
        // The newest item before a send started; the send's own message is newer.
        Migration("newest", "ALTER TABLE send ADD COLUMN newest INTEGER NOT NULL DEFAULT 0"),
        Migration("read", "ALTER TABLE item ADD COLUMN read INTEGER NOT NULL DEFAULT 0"),
        Migration("named", "ALTER TABLE chat ADD COLUMN named INTEGER NOT NULL DEFAULT 0"),
        Migration("unsettled", "CREATE INDEX unsettled_item ON item (id) WHERE \(isUnsettled)"),
        // True if the message has a preview, which the core stores. Most pictures and videos have one.
        Migration(
            "preview",
            """
            ALTER TABLE item ADD COLUMN preview INTEGER NOT NULL DEFAULT 0;
            UPDATE item SET preview = 1 WHERE kind IN ('image', 'video');
            """),
        Migration("leaving", "CREATE INDEX leaving_item ON item (time, id) WHERE \(isLeaving)"),
        // Identity of the profile and its database.
        Migration(
            "identity",
            "CREATE TABLE identity (only INTEGER PRIMARY KEY CHECK (only = 1), text TEXT NOT NULL) STRICT"),
        // Path of copies and files of links.
        Migration(
            "place",
            "CREATE TABLE place (only INTEGER PRIMARY KEY CHECK (only = 1), staging TEXT NOT NULL) STRICT"),
        // The sender deleted the message, but the core keeps its file.
        Migration("deleted by sender", "ALTER TABLE item ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0"),
    ]

    /// Condition for received items without their file, which relays will delete.
    static let isLeaving = """
        direction = 'received' AND transport = 'xftp' AND (status IN ('rcvInvitation', 'rcvAccepted', 'rcvTransfer', \
        'rcvAborted', 'rcvWarning') OR status = 'rcvError' AND coalesce(problem, '') NOT IN ('expired', \
        'neverUploaded', 'cancelledBySender', 'blocked'))
        """

    /// Condition for items with a running transfer or a temporary failure.
    static let isUnsettled = """
        (status IN ('sndTransfer', 'sndError', 'sndWarning', 'rcvAccepted', 'rcvTransfer', 'rcvAborted', \
        'rcvWarning') OR status = 'sndStored' AND transport != 'local' OR status = 'rcvError' AND \
        coalesce(problem, '') NOT IN ('expired', 'neverUploaded', 'cancelledBySender', 'blocked'))
        """
}
