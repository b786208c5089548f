import Agent
import Base
import ChatProtocol
import SMP
import Store

/// A profile's network connections and their chats.
struct PeopleTable {
    let connection: Connection
    let profile: Int64

    /// A stored connection.
    struct Person {
        var connection: ConnectionID
        /// nil before the peer's introduction and after the chat was deleted.
        var chat: Int64?
        /// nil like `chat`, and for a group.
        var conversation: ContactConversation?
        /// Whether both sides have confirmed it.
        var isConnected: Bool
        /// Whether this side has deleted it; its messages are ignored.
        var isEnded: Bool
        /// Reason for the connection; nil for one of an earlier release without messages since.
        var reason: ConnectionReason?
        /// Reason of a failed handshake.
        var failure: String?
    }

    /// Stores a connection. A known one keeps its reason.
    func insert(_ id: ConnectionID, _ reason: ConnectionReason? = nil) throws {
        try connection.execute(
            """
            INSERT INTO connection (profile, number, reason) VALUES (?, ?, ?)
            ON CONFLICT (profile, number) DO UPDATE SET reason = coalesce(reason, excluded.reason)
            WHERE reason IS NULL AND excluded.reason IS NOT NULL
            """, profile, id.number, reason?.text)
    }

    func person(_ id: ConnectionID) throws -> Person? {
        try connection.first(
            """
            SELECT n.number, n.chat, n.introduction, n.is_ended, n.is_connected, c.ended IS NOT NULL AS is_over,
                c.contact_name, n.reason, n.failure
            FROM connection n LEFT JOIN chat c ON c.id = n.chat WHERE n.profile = ? AND n.number = ?
            """, profile, id.number
        ) { row in
            let conversation = row.bytesOrNil("introduction").map { introduction in
                let message = ChatMessage(stored: introduction)
                // A damaged row must not silence the contact.
                var profile = ContactProfile(displayName: row.textOrNil("contact_name") ?? "")
                if case .information(let known) = message?.event { profile = known }
                return ContactConversation(
                    profile: profile, versions: message?.versions, hasEnded: row.bool("is_over"))
            }
            return Person(
                connection: ConnectionID(row.integer("number")), chat: row.integerOrNil("chat"),
                conversation: conversation, isConnected: row.bool("is_connected"),
                isEnded: row.bool("is_ended"),
                reason: row.textOrNil("reason").flatMap { ConnectionReason(text: $0) },
                failure: row.textOrNil("failure"))
        }
    }

    /// Returns nil for a local chat.
    func connection(ofChat chat: Int64) throws -> ConnectionID? {
        try connection.first(
            "SELECT number FROM connection WHERE profile = ? AND chat = ? AND is_ended = 0", profile, chat
        ) { ConnectionID($0.integer("number")) }
    }

    /// Returns the profile of a chat's contact.
    func contact(ofChat chat: Int64) throws -> ContactProfile? {
        try connection(ofChat: chat).flatMap { try person($0)?.conversation?.profile }
    }

    /// Stores a contact's state and chat.
    func keep(_ conversation: ContactConversation, of id: ConnectionID, chat: Int64) throws {
        let introduction = ChatMessage(
            .information(conversation.profile), id: nil, versions: conversation.versions)
        try connection.execute(
            "UPDATE connection SET introduction = ?, chat = ? WHERE profile = ? AND number = ?",
            Array(introduction.json.utf8), chat, profile, id.number)
    }

    func end(_ id: ConnectionID) throws {
        try connection.execute(
            "UPDATE connection SET is_ended = 1 WHERE profile = ? AND number = ?", profile, id.number)
    }

    /// Deletes a connection that the agent no longer has. Keeps one with an active chat or an unreported
    /// failure.
    func forget(_ id: ConnectionID) throws {
        let removed = try connection.execute(
            """
            DELETE FROM connection WHERE profile = ? AND number = ? \
            AND (is_ended = 1 OR (chat IS NULL AND failure IS NULL))
            """, profile, id.number)
        guard removed > 0 else { return }
        try connection.execute(
            "DELETE FROM handed_message WHERE profile = ? AND connection = ?", profile, id.number)
    }

    func noteConnected(_ id: ConnectionID) throws {
        try connection.execute(
            "UPDATE connection SET is_connected = 1 WHERE profile = ? AND number = ?", profile, id.number)
    }

    /// Returns why the handshake failed; nil if it did not.
    func failure(of id: ConnectionID) throws -> String? {
        try connection.first(
            "SELECT failure FROM connection WHERE profile = ? AND number = ?", profile, id.number
        ) { $0.textOrNil("failure") } ?? nil
    }

    func setFailure(_ sentence: String, of id: ConnectionID) throws {
        try connection.execute(
            "UPDATE connection SET failure = ? WHERE profile = ? AND number = ?", sentence, profile, id.number
        )
    }

    /// Returns connections that this side has not deleted, unused links included, addresses excluded.
    func open() throws -> [ConnectionID] {
        try connection.query(
            """
            SELECT number FROM connection n WHERE profile = ? AND is_ended = 0
            AND NOT EXISTS (SELECT 1 FROM contact_address a WHERE a.profile = n.profile AND a.connection = n.number)
            ORDER BY number
            """, profile
        ) { ConnectionID($0.integer("number")) }
    }

    /// Whether the profile needs an agent.
    func hasConnections() throws -> Bool {
        try connection.exists("SELECT 1 FROM connection WHERE profile = ?", profile)
    }

    // MARK: - Agent events

    func lastEvent() throws -> Int64 {
        try connection.first("SELECT agent_event FROM profile WHERE id = ?", profile) {
            $0.integer("agent_event")
        } ?? 0
    }

    func setLastEvent(_ number: Int64) throws {
        try connection.execute("UPDATE profile SET agent_event = ? WHERE id = ?", number, profile)
    }

    /// Records that the event's message needs a receipt, in case the process dies before sending it.
    func noteReceiptDue(_ number: Int64) throws {
        try connection.execute("UPDATE profile SET agent_receipt = ? WHERE id = ?", number, profile)
    }

    /// Whether the last processed event needs a receipt.
    func isReceiptDue(_ number: Int64) throws -> Bool {
        try connection.exists("SELECT 1 FROM profile WHERE id = ? AND agent_receipt = ?", profile, number)
    }
}

/// Messaging servers of profiles.
struct MessagingServerTable {
    let connection: Connection

    func add(_ addresses: [String], to profile: Int64) throws {
        for address in addresses {
            try connection.execute(
                "INSERT OR IGNORE INTO messaging_server (profile, address) VALUES (?, ?)", profile, address)
        }
    }

    /// Returns the stored text of a server with any password; nil if unknown.
    func text(of server: ServerAddress, in profile: Int64) throws -> String? {
        try configured(of: profile).first { ServerAddress($0) == server }
    }

    func replace(_ address: String, by other: String, of profile: Int64) throws {
        try connection.execute(
            "UPDATE messaging_server SET address = ? WHERE profile = ? AND address = ?", other, profile,
            address)
    }

    /// Returns false if there is no such server.
    func remove(_ address: String, from profile: Int64) throws -> Bool {
        try connection.execute(
            "DELETE FROM messaging_server WHERE profile = ? AND address = ?", profile, address) > 0
    }

    /// Returns servers with passwords in order of insertion.
    func configured(of profile: Int64) throws -> [String] {
        try connection.query("SELECT address FROM messaging_server WHERE profile = ? ORDER BY id", profile) {
            $0.text("address")
        }
    }
}
