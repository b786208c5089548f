import Base
import ChatCore
import Network
import Store

/// The profiles of a data directory.
struct ProfileTable {
    let connection: Connection

    /// Returns the profiles in order of creation.
    func all() throws -> [Profile] {
        try connection.query("SELECT id, name FROM profile ORDER BY id") { row in
            Profile(id: row.integer("id"), displayName: row.text("name"))
        }
    }

    /// Returns the current name.
    func name(of profile: Int64) throws -> String? {
        try connection.first("SELECT name FROM profile WHERE id = ?", profile) { $0.text("name") }
    }

    func profile(named name: String) throws -> Profile? {
        try connection.first("SELECT id FROM profile WHERE name = ?", name) { row in
            Profile(id: row.integer("id"), displayName: name)
        }
    }

    /// Creates a profile with its notes chat.
    func insert(_ name: String, at time: Timestamp) throws -> Profile {
        try connection.execute("INSERT INTO profile (name, created) VALUES (?, ?)", name, time)
        let id = connection.lastInsertedID
        try connection.execute(
            "INSERT INTO chat (profile, kind, updated) VALUES (?, ?, ?)", id, StoredChatKind.notes, time)
        return Profile(id: id, displayName: name)
    }

    func rename(_ profile: Int64, to name: String) throws {
        try connection.execute("UPDATE profile SET name = ? WHERE id = ?", name, profile)
    }

    // MARK: - Network

    /// Returns a profile's network settings, or the defaults if it does not exist.
    /// - Throws: `.damaged`, also for an invalid proxy: without it, servers would see the user's address.
    func network(of profile: Int64) throws -> NetworkChoice {
        try connection.first(
            "SELECT proxy, routing, routing_fallback, sends_receipts FROM profile WHERE id = ?", profile
        ) { row in
            NetworkChoice(
                proxy: try row.textOrNil("proxy").map { try Self.proxy(stored: $0) },
                routing: try row.value("routing", as: NetworkChoice.Routing.self),
                fallback: try row.value("routing_fallback", as: NetworkChoice.Fallback.self),
                sendsReceipts: row.integer("sends_receipts") != 0)
        } ?? NetworkChoice()
    }

    private static func proxy(stored text: String) throws -> Endpoint {
        guard let proxy = Endpoint(text) else {
            throw StoreError(
                .damaged,
                "The database is corrupt: a row has an unknown value for 'proxy'. Restore it from a backup.")
        }
        return proxy
    }

    func sendsReceipts(_ profile: Int64) throws -> Bool {
        try connection.first("SELECT sends_receipts FROM profile WHERE id = ?", profile) {
            $0.bool("sends_receipts")
        } ?? NetworkChoice().sendsReceipts
    }

    func setNetwork(_ choice: NetworkChoice, of profile: Int64) throws {
        try connection.execute(
            """
            UPDATE profile SET proxy = ?, routing = ?, routing_fallback = ?, sends_receipts = ? WHERE id = ?
            """,
            choice.proxy?.description, choice.routing.rawValue, choice.fallback.rawValue,
            choice.sendsReceipts,
            profile)
    }

    /// Deletes a profile's rows. Its items must be gone already.
    func remove(_ profile: Int64) throws {
        try connection.execute(
            "DELETE FROM network_member WHERE chat IN (SELECT id FROM chat WHERE profile = ?)", profile)
        for table in ["group_delivery", "held_outgoing"] {
            try connection.execute(
                "DELETE FROM \(table) WHERE chat IN (SELECT id FROM chat WHERE profile = ?)", profile)
        }
        for table in [
            "file", "chat", "member", "news", "relay", "approval", "chunk_deletion", "connection", "outgoing",
            "messaging_server", "refused_server", "contact_address", "contact_request", "network_group",
            "early_message",
            "member_connection", "handed_message", "damaged_copy",
        ] {
            try connection.execute("DELETE FROM \(table) WHERE profile = ?", profile)
        }
        try PartTable(connection: connection).removeAll(of: profile)
        try connection.execute("DELETE FROM profile WHERE id = ?", profile)
    }
}
