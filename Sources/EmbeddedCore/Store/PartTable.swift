import Store

/// The other databases of the data directory, by path below it.
struct PartTable {
    let connection: Connection

    func all() throws -> [String] {
        try connection.query("SELECT place FROM part ORDER BY place") { $0.text("place") }
    }

    /// Adds a path. Ignores one of a profile deleted meanwhile.
    func note(_ place: String) throws {
        try connection.execute(
            """
            INSERT OR IGNORE INTO part (place)
            SELECT ?1 WHERE ?1 NOT LIKE 'profiles/%'
                OR EXISTS (SELECT 1 FROM profile WHERE ?1 LIKE 'profiles/' || id || '/%')
            """, place)
    }

    func remove(_ place: String) throws {
        try connection.execute("DELETE FROM part WHERE place = ?", place)
    }

    func removeAll(of profile: Int64) throws {
        try connection.execute("DELETE FROM part WHERE place LIKE ?", "profiles/\(profile)/%")
    }

    /// Replaces the list.
    func replace(with places: [String]) throws {
        try connection.execute("DELETE FROM part")
        for place in places { try note(place) }
    }
}
