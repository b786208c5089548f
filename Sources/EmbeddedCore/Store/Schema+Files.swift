extension Schema {
    /// Files and their transfers.
    ///
    /// * `file`: belongs to one profile. `recipients`: number of descriptions of an upload. `recipient`: index of this
    ///   file's description, from 0. `to_receive`: raw value of `AutomaticReception`. `plain_path` and `link`:
    ///   standalone transfers. `link_description`: sender description that deletes the link's own upload.
    ///   `is_announced`: 0 from the upload until a server has the message that announces it; then the file's time
    ///   starts. `content_offset`: where the content begins in a file kept as XFTP transferred it; NULL: all is content.
    /// * `approval`: `protocol` is the use of the address. `refused_server`: a server inside this machine's own
    ///   network, named by another person, that waits for approval.
    /// * `inline_transfer`: a missing inline file whose chunks are accepted. `is_asked`: whether it was requested.
    ///   `received`: number of stored chunks, counted from 1. A complete file becomes its row's `inline_content`.
    /// * `damaged_copy`: keys of the files in the folder `damaged`.
    /// * `unasked_budget`: `ReceptionBudget` of an author or several in a chat (`ReceptionBudgetTable`).
    static let files = """
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
            inline_content TEXT,
            recipients INTEGER,
            recipient INTEGER,
            description TEXT,
            sender_description TEXT,
            upload_state BLOB,
            to_receive INTEGER NOT NULL DEFAULT 0,
            approved INTEGER NOT NULL DEFAULT 0,
            plain_path TEXT,
            link TEXT,
            link_description TEXT,
            is_announced INTEGER NOT NULL DEFAULT 1,
            content_offset INTEGER
        ) STRICT;
        CREATE INDEX file_on_its_way ON file (profile) WHERE inline_content IS NOT NULL;
        CREATE INDEX file_by_status ON file (profile, status);
        CREATE INDEX file_unsettled ON file (profile) WHERE \(isUnsettled);
        CREATE INDEX file_stored ON file (profile, stored_name) WHERE stored_name IS NOT NULL;
        CREATE INDEX file_described ON file (profile, status) WHERE description IS NOT NULL;
        CREATE INDEX file_leaving ON file (profile, expires, item) WHERE \(isLeaving);
        CREATE INDEX file_within_messages ON file (profile) WHERE \(isWithinMessages);

        CREATE TABLE chunk_deletion (
            file INTEGER PRIMARY KEY,
            profile INTEGER NOT NULL REFERENCES profile,
            sender_description TEXT,
            upload_state BLOB,
            created INTEGER NOT NULL,
            link_description TEXT
        ) STRICT;

        CREATE TABLE damaged_copy (
            file INTEGER PRIMARY KEY,
            profile INTEGER NOT NULL REFERENCES profile,
            key BLOB NOT NULL,
            nonce BLOB NOT NULL,
            content_offset INTEGER,
            content_size INTEGER
        ) STRICT;

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
            protocol TEXT NOT NULL DEFAULT 'xftp' CHECK (protocol IN ('xftp', 'smp')),
            PRIMARY KEY (profile, fingerprint, host, port)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE refused_server (
            profile INTEGER NOT NULL REFERENCES profile,
            address TEXT NOT NULL,
            time INTEGER NOT NULL,
            PRIMARY KEY (profile, address)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE inline_transfer (
            file INTEGER PRIMARY KEY REFERENCES file ON DELETE CASCADE,
            is_asked INTEGER NOT NULL,
            received INTEGER NOT NULL DEFAULT 0
        ) STRICT;

        CREATE TABLE inline_chunk (
            file INTEGER NOT NULL REFERENCES inline_transfer ON DELETE CASCADE,
            number INTEGER NOT NULL,
            bytes BLOB NOT NULL,
            UNIQUE (file, number)
        ) STRICT;

        CREATE TABLE unasked_budget (
            chat INTEGER NOT NULL,
            author TEXT NOT NULL,
            since INTEGER NOT NULL,
            files INTEGER NOT NULL,
            bytes INTEGER NOT NULL,
            PRIMARY KEY (chat, author)
        ) STRICT, WITHOUT ROWID;
        """
}
