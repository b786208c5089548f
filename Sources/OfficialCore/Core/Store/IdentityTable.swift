import Store

/// Which profile of which database of the core the index is about (`CoreIdentity`).
struct IdentityTable {
    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    /// nil before the core has told it.
    func known() throws -> String? {
        try connection.first("SELECT text FROM identity") { $0.text("text") }
    }

    /// Kept for good.
    func note(_ identity: String) throws {
        try connection.execute("INSERT INTO identity (only, text) VALUES (1, ?)", identity)
    }
}
