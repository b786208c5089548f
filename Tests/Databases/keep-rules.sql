INSERT INTO schema_version (number, name) VALUES
    (1, 'rules'),
    (2, 'small media');
CREATE TABLE rule (
    chat TEXT PRIMARY KEY,
    kinds TEXT CHECK (kinds IN ('never', 'media', 'all')),
    largest INTEGER,
    minimum_free INTEGER,
    uses_metered INTEGER CHECK (uses_metered IN (0, 1)),
    moment TEXT CHECK (moment IN ('arrival', 'expiring')),
    receives_small_media INTEGER CHECK (receives_small_media IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE TABLE told (file INTEGER PRIMARY KEY, expires INTEGER NOT NULL) STRICT;
CREATE INDEX told_by_expiry ON told (expires);
CREATE TABLE look (number INTEGER PRIMARY KEY CHECK (number = 1), time INTEGER NOT NULL) STRICT;
