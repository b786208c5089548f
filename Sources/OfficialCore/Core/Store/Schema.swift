import ChatCore
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

    /// * `item`: `preview`: its message has a preview, which the core stores. `deleted`: its sender deleted the
    ///   message, and the core keeps its file.
    /// * `send`: `newest` is the newest item known when the send began; its own message can only be a later one.
    /// * `identity`: the database and profile of the index. `place`: the folder of copies and files of links.
    static let migrations = [
        Migration(
            "files 0.1",
            """
            CREATE TABLE chat (
                chat TEXT PRIMARY KEY,
                name TEXT NOT NULL,
                updated INTEGER NOT NULL,
                refused TEXT,
                gone INTEGER NOT NULL DEFAULT 0,
                listed INTEGER NOT NULL DEFAULT 0,
                named INTEGER NOT NULL DEFAULT 0
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
                sealed INTEGER NOT NULL,
                disappears INTEGER NOT NULL DEFAULT 0,
                read INTEGER NOT NULL DEFAULT 0,
                preview INTEGER NOT NULL DEFAULT 0,
                deleted INTEGER NOT NULL DEFAULT 0
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
                size INTEGER NOT NULL,
                newest INTEGER NOT NULL DEFAULT 0
            ) STRICT;
            CREATE INDEX moving_item ON item (id) WHERE \(isMoving);
            CREATE TABLE kept (
                file INTEGER PRIMARY KEY,
                path TEXT NOT NULL,
                key BLOB NOT NULL,
                nonce BLOB NOT NULL
            ) STRICT;
            CREATE INDEX unsettled_item ON item (id) WHERE \(isUnsettled);
            CREATE INDEX leaving_item ON item (time, id) WHERE \(isLeaving);
            CREATE TABLE identity (only INTEGER PRIMARY KEY CHECK (only = 1), text TEXT NOT NULL) STRICT;
            CREATE TABLE place (only INTEGER PRIMARY KEY CHECK (only = 1), staging TEXT NOT NULL) STRICT;
            """, replaces: DevelopmentSchema(steps: 13, last: "deleted by sender")),
        // Time at which a phone's whole history was last read, and an index of received files without a local copy.
        Migration(
            "review",
            """
            CREATE TABLE review (only INTEGER PRIMARY KEY CHECK (only = 1), time INTEGER NOT NULL) STRICT;
            CREATE INDEX elsewhere_item ON item (id) WHERE \(isElsewhere);
            """),
        // Time up to which all messages of a chat were read.
        Migration(
            "compared",
            """
            ALTER TABLE chat ADD COLUMN compared INTEGER NOT NULL DEFAULT 0;
            UPDATE chat SET compared = updated;
            """),
        // Requested previews of a phone's messages, and its logs, which need its whole history again.
        Migration(
            "previews and texts",
            """
            CREATE TABLE preview (
                item INTEGER PRIMARY KEY REFERENCES item (id) ON DELETE CASCADE,
                uri TEXT NOT NULL
            ) STRICT;
            CREATE TABLE text (
                number INTEGER PRIMARY KEY,
                chat TEXT NOT NULL,
                reference TEXT NOT NULL,
                seen INTEGER NOT NULL,
                item INTEGER NOT NULL,
                position INTEGER,
                line BLOB NOT NULL,
                written INTEGER NOT NULL
            ) STRICT;
            CREATE INDEX text_of_chat ON text (chat, position);
            CREATE INDEX text_of_reference ON text (reference, seen);
            CREATE INDEX text_of_item ON text (item);
            UPDATE review SET time = 0;
            """),
    ]

    /// Condition for received items without their file, which relays will delete.
    static let isLeaving = """
        direction = 'received' AND transport = 'xftp' AND (status IN ('rcvInvitation', 'rcvAccepted', 'rcvTransfer', \
        'rcvAborted', 'rcvWarning') OR status = 'rcvError' AND coalesce(problem, '') NOT IN \
        (\(FileProblem.Kind.goneInSQL)))
        """

    /// Condition for received items whose file is only on another machine.
    static let isElsewhere = "direction = 'received' AND status = 'rcvComplete' AND path = ''"

    /// Condition for items with a running transfer or a temporary failure.
    static let isUnsettled = """
        (status IN ('sndTransfer', 'sndError', 'sndWarning', 'rcvAccepted', 'rcvTransfer', 'rcvAborted', \
        'rcvWarning') OR status = 'sndStored' AND transport != 'local' OR status = 'rcvError' AND \
        coalesce(problem, '') NOT IN (\(FileProblem.Kind.goneInSQL)))
        """
}
