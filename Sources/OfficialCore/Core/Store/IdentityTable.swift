import Store

/// Identity of the profile and database that the index belongs to (`CoreIdentity`).
struct IdentityTable {
    let connection: Connection

    /// nil until the core has reported it.
    func known() throws -> String? {
        try connection.first("SELECT text FROM identity") { $0.text("text") }
    }

    /// Stored permanently.
    func note(_ identity: String) throws {
        try connection.execute("INSERT INTO identity (only, text) VALUES (1, ?)", identity)
    }
}
