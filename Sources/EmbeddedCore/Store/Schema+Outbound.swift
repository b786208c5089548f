extension Schema {
    /// What a place is approved for: `xftp` or `smp`. A `refused_server` was named by somebody else, is inside this machine's own
    /// network, and waits for an approval.
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
