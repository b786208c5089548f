extension Schema {
    /// `protocol`: use of an approved address, `xftp` or `smp`. `refused_server`: a server inside this
    /// machine's own network, named by another person, that waits for approval.
    static let outbound = """
        ALTER TABLE approval ADD COLUMN protocol TEXT NOT NULL DEFAULT 'xftp' CHECK (protocol IN ('xftp', 'smp'));
        CREATE TABLE refused_server (
            profile INTEGER NOT NULL REFERENCES profile,
            address TEXT NOT NULL,
            time INTEGER NOT NULL,
            PRIMARY KEY (profile, address)
        ) STRICT, WITHOUT ROWID;
        """
}
