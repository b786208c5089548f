import Store

/// The index of a profile's files: what the core would have to be asked page by page. It can always be
/// made again from the core, so it need not survive a power cut; it holds no descriptions, and no keys but
/// those of copies that only ChatFS has. What must survive, sends under way and these copies, is written by
/// durable transactions.
enum Schema {
    /// Items whose file is on its way, as a condition: few, looked for every ten seconds, and in an index of
    /// their own, which SQLite uses for queries that have this condition word for word. Notes go nowhere.
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
        // The newest item known when a send began: its own message can only be a later one.
        Migration("newest", "ALTER TABLE send ADD COLUMN newest INTEGER NOT NULL DEFAULT 0"),
        Migration("read", "ALTER TABLE item ADD COLUMN read INTEGER NOT NULL DEFAULT 0"),
        Migration("named", "ALTER TABLE chat ADD COLUMN named INTEGER NOT NULL DEFAULT 0"),
        Migration("unsettled", "CREATE INDEX unsettled_item ON item (id) WHERE \(isUnsettled)"),
        // Whether its message carries a preview, which is with the core. Pictures and videos mostly have one.
        Migration(
            "preview",
            """
            ALTER TABLE item ADD COLUMN preview INTEGER NOT NULL DEFAULT 0;
            UPDATE item SET preview = 1 WHERE kind IN ('image', 'video');
            """),
        Migration("leaving", "CREATE INDEX leaving_item ON item (time, id) WHERE \(isLeaving)"),
        // Which profile of which database it is about.
        Migration(
            "identity",
            "CREATE TABLE identity (only INTEGER PRIMARY KEY CHECK (only = 1), text TEXT NOT NULL) STRICT"),
        // Where copies and files of links lie.
        Migration(
            "place",
            "CREATE TABLE place (only INTEGER PRIMARY KEY CHECK (only = 1), staging TEXT NOT NULL) STRICT"),
        // Its sender deleted the message, and the core keeps its file.
        Migration("deleted by sender", "ALTER TABLE item ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0"),
    ]

    /// The same for received items whose file is not here and that relays drop at some time.
    static let isLeaving = """
        direction = 'received' AND transport = 'xftp' AND (status IN ('rcvInvitation', 'rcvAccepted', 'rcvTransfer', \
        'rcvAborted', 'rcvWarning') OR status = 'rcvError' AND coalesce(problem, '') NOT IN ('expired', \
        'neverUploaded', 'cancelledBySender', 'blocked'))
        """

    /// The same for items whose file is on its way or failed for a reason that may pass.
    static let isUnsettled = """
        (status IN ('sndTransfer', 'sndError', 'sndWarning', 'rcvAccepted', 'rcvTransfer', 'rcvAborted', \
        'rcvWarning') OR status = 'sndStored' AND transport != 'local' OR status = 'rcvError' AND \
        coalesce(problem, '') NOT IN ('expired', 'neverUploaded', 'cancelledBySender', 'blocked'))
        """
}
