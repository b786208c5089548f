import Store

/// The path of ChatFS's files in the core's files folder, for use without a core.
struct PlaceTable {
    let connection: Connection

    /// nil before the first `open`.
    func known() throws -> String? {
        try connection.first("SELECT staging FROM place") { $0.text("staging") }
    }

    func note(_ staging: String) throws {
        try connection.execute("INSERT OR REPLACE INTO place (only, staging) VALUES (1, ?)", staging)
    }

    func forget() throws { try connection.execute("DELETE FROM place") }
}
