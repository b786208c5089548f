import Base
import ChatCore
import Store

/// One profile's side of a chat.
struct ChatSide: Hashable {
    var profile: Int64
    var chat: Int64
}

/// The chats of all profiles: contacts, groups, notes. Each profile has its own side of a chat.
struct ChatTable {
    let connection: Connection

    static let notesName = "Saved notes"
    /// Notes have no other members, who would read texts or send files.
    private static let notesActions: Set<ChatAction> = [.upload, .messages]

    // MARK: - Reading

    func all(of profile: Int64) throws -> [Chat] { try chats(of: profile, only: nil) }

    func chat(_ id: Int64, of profile: Int64) throws -> Chat? { try chats(of: profile, only: id).first }

    private func chats(of profile: Int64, only chat: Int64?) throws -> [Chat] {
        // Two statements, because one for both cases would scan all chats.
        let isMeant = chat == nil ? "? IS NULL" : "c.id = ?"
        return try connection.query(
            """
            SELECT c.id, c.kind, c.updated, coalesce(c.alias, p.name, g.name, c.contact_name, '') AS name,
                c.alias IS NOT NULL AS is_named, c.ended, c.refused,
                c.is_taken_over AND c.ended IS NULL AS is_taken_over,
                c.keys IS NOT NULL AND c.ended IS NULL AS awaits_keys,
                c.is_refused AND c.refused IS NULL AND c.ended IS NULL AS is_refused,
                c.verification, c.requires_verification,
                CASE WHEN c.ended = 'not_connected' THEN (SELECT n.failure FROM connection n
                    WHERE n.profile = c.profile AND n.chat = c.id AND n.failure IS NOT NULL LIMIT 1) END AS failure
            FROM chat c
            LEFT JOIN profile p ON p.id = c.contact LEFT JOIN chat_group g ON g.id = c.chat_group
            WHERE c.profile = ? AND \(isMeant) ORDER BY c.id
            """, profile, chat
        ) { row in
            let kind = try row.value("kind", as: StoredChatKind.self)
            let ending = try row.valueOrNil("ended", as: StoredChatEnding.self)?.sentence
            let verification = try row.value("verification", as: ContactVerification.self)
            let unverified = row.bool("requires_verification") ? verification.refusal : nil
            return Chat(
                reference: kind.reference(row.integer("id")),
                displayName: kind == .notes ? Self.notesName : row.text("name"),
                updatedAt: row.timestamp("updated"),
                sendingRefused: try row.textOrNil("failure") ?? ending
                    ?? row.valueOrNil("refused", as: StoredChatRefusal.self)?.sentence(in: kind)
                    ?? unverified,
                receivingProblem: row.bool("is_taken_over") ? Self.takenOver : nil,
                sendingProblem: row.bool("awaits_keys")
                    ? Self.awaitsKeys : row.bool("is_refused") ? Self.isRefused : nil,
                isNamedByUser: row.bool("is_named"), verification: verification,
                supportedActions: kind == .notes ? Self.notesActions : .all)
        }
    }

    /// Returns the id of a profile's chat.
    /// - Throws: `ChatError.noSuchChat`.
    func id(of chat: ChatReference, of profile: Int64) throws -> Int64 {
        let (kind, id) = StoredChatKind.columns(of: chat)
        guard
            try connection.exists(
                "SELECT 1 FROM chat WHERE id = ? AND profile = ? AND kind = ?", id, profile, kind)
        else { throw ChatError.noSuchChat }
        return id
    }

    /// Whether the chat has not ended.
    func isOpen(_ chat: Int64) throws -> Bool {
        try connection.exists("SELECT 1 FROM chat WHERE id = ? AND ended IS NULL", chat)
    }

    /// Returns the sides of the other local profiles in a chat that has not ended.
    func recipients(of chat: Int64) throws -> [ChatSide] {
        try connection.query(
            """
            SELECT other.profile, other.id FROM chat own JOIN chat other
            ON other.profile = own.contact AND other.contact = own.profile
            OR other.chat_group = own.chat_group AND other.profile != own.profile
            WHERE own.id = ? AND own.ended IS NULL AND other.ended IS NULL ORDER BY other.profile
            """, chat
        ) { ChatSide(profile: $0.integer("profile"), chat: $0.integer("id")) }
    }

    /// Returns the sides that have the profile as a contact.
    func sides(ofContact profile: Int64) throws -> [ChatSide] {
        try sides("SELECT profile, id FROM chat WHERE contact = ?", profile)
    }

    private func sides(_ query: String, _ value: Int64) throws -> [ChatSide] {
        try connection.query(query, value) { row in
            ChatSide(profile: row.integer("profile"), chat: row.integer("id"))
        }
    }

    // MARK: - Changes

    func noteMessage(in chat: Int64, at time: Timestamp) throws {
        try connection.execute("UPDATE chat SET updated = ? WHERE id = ?", time, chat)
    }

    func setAlias(_ name: String, of chat: Int64) throws {
        try connection.execute("UPDATE chat SET alias = ? WHERE id = ?", name, chat)
    }

    /// Sets how long new messages stay, on all local sides of the chat; nil keeps them.
    /// - Returns: the changed sides.
    func setTimeToLive(_ seconds: Int64?, in side: ChatSide) throws -> [ChatSide] {
        let sides = try [side] + recipients(of: side.chat)
        for side in sides {
            try connection.execute("UPDATE chat SET ttl = ? WHERE id = ?", seconds, side.chat)
        }
        return sides
    }

    func timeToLive(of chat: Int64) throws -> Int64? {
        try connection.first("SELECT ttl FROM chat WHERE id = ?", chat) { $0.integerOrNil("ttl") } ?? nil
    }

    /// Whether the profile has the contact and neither side has left.
    func isConnected(_ profile: Int64, to contact: Int64) throws -> Bool {
        try connection.exists(
            "SELECT 1 FROM chat WHERE profile = ? AND contact = ? AND ended IS NULL", profile, contact)
    }

    /// Creates one side of a contact, or reopens an ended one.
    func connect(_ profile: Int64, to contact: Int64, at time: Timestamp) throws -> ChatSide? {
        try connection.execute(
            """
            INSERT INTO chat (profile, kind, contact, updated) VALUES (?, ?, ?, ?)
            ON CONFLICT (profile, contact) DO UPDATE SET ended = NULL
            """, profile, StoredChatKind.direct, contact, time)
        return try connection.first(
            "SELECT id FROM chat WHERE profile = ? AND contact = ?", profile, contact
        ) { ChatSide(profile: profile, chat: $0.integer("id")) }
    }

    /// Ends a chat for a profile that leaves it. A group continues for its other members; a contact's chat
    /// ends on both sides.
    /// - Returns: the changed sides.
    func leave(_ chat: Int64) throws -> [ChatSide] {
        try connection.execute(
            "UPDATE chat SET ended = coalesce(ended, ?) WHERE id = ?", StoredChatEnding.left, chat)
        try connection.execute(
            """
            DELETE FROM member WHERE (chat_group, profile) IN
            (SELECT chat_group, profile FROM chat WHERE id = ? AND chat_group IS NOT NULL)
            """, chat)
        let others = """
            FROM chat other JOIN chat own ON other.profile = own.contact AND other.contact = own.profile
            WHERE own.id = ? AND other.ended IS NULL
            """
        let changed =
            try sides("SELECT profile, id FROM chat WHERE id = ?", chat)
            + sides("SELECT other.profile, other.id \(others)", chat)
        try connection.execute(
            "UPDATE chat SET ended = ? WHERE id IN (SELECT other.id \(others))",
            StoredChatEnding.contactLeft, chat)
        return changed
    }

    /// Ends the chats with a deleted contact. They keep its name.
    func forgetContact(_ profile: Int64) throws {
        try connection.execute(
            """
            UPDATE chat SET ended = ?, contact = NULL,
                alias = coalesce(alias, (SELECT name FROM profile WHERE id = chat.contact))
            WHERE contact = ?
            """, StoredChatEnding.contactDeleted, profile)
    }

    /// Deletes one side of a chat without items. The last side deletes the group.
    func remove(_ chat: Int64) throws {
        let group = try connection.first("SELECT chat_group FROM chat WHERE id = ?", chat) { row in
            row.integerOrNil("chat_group")
        }
        try connection.execute("DELETE FROM chat WHERE id = ?", chat)
        for table in [
            "shared_message", "network_group", "network_member", "group_delivery", "held_outgoing",
            "unasked_budget",
        ] {
            try connection.execute("DELETE FROM \(table) WHERE chat = ?", chat)
        }
        try connection.execute("DELETE FROM message_line WHERE chat = ?", chat)
        try connection.execute(
            """
            DELETE FROM handed_message WHERE (profile, connection) IN
            (SELECT profile, number FROM connection WHERE chat = ?)
            """, chat)
        try connection.execute("UPDATE connection SET chat = NULL, is_ended = 1 WHERE chat = ?", chat)
        guard let group = group ?? nil else { return }
        try connection.execute(
            """
            DELETE FROM chat_group WHERE id = ?
            AND NOT EXISTS (SELECT 1 FROM chat WHERE chat_group = chat_group.id)
            AND NOT EXISTS (SELECT 1 FROM member WHERE chat_group = chat_group.id)
            """, group)
    }

    // MARK: - Network chats

    /// Inserts a chat with a contact on the network.
    func insertContact(_ name: String, of profile: Int64, at time: Timestamp) throws -> Int64 {
        try connection.execute(
            "INSERT INTO chat (profile, kind, contact_name, updated) VALUES (?, ?, ?, ?)",
            profile, StoredChatKind.direct, name, time)
        return connection.lastInsertedID
    }

    /// Stores a contact's new name.
    func renameContact(_ name: String, of chat: Int64) throws {
        try connection.execute("UPDATE chat SET contact_name = ? WHERE id = ?", name, chat)
    }

    /// Ends the chat in both directions.
    func end(_ chat: Int64, _ ending: StoredChatEnding) throws {
        try connection.execute("UPDATE chat SET ended = coalesce(ended, ?) WHERE id = ?", ending, chat)
    }

    /// Inserts a group on the network.
    func insertGroup(named name: String, of profile: Int64, at time: Timestamp) throws -> Int64 {
        try connection.execute(
            "INSERT INTO chat (profile, kind, contact_name, updated) VALUES (?, ?, ?, ?)",
            profile, StoredChatKind.group, name, time)
        return connection.lastInsertedID
    }

    /// Sets why sending is impossible now; nil permits it. Returns false if unchanged.
    @discardableResult
    func setRefusal(_ refusal: StoredChatRefusal?, of chat: Int64) throws -> Bool {
        try connection.execute(
            "UPDATE chat SET refused = ? WHERE id = ? AND refused IS NOT ?", refusal, chat, refusal) > 0
    }

    /// Shown if another program receives the messages, or the queue is lost.
    private static let takenOver =
        "No longer receiving from this chat: another program receives it with a copy of this profile, or the messaging "
        + "server has lost it. End that program and open the profile here again; where that does not help, connect "
        + "with a new link."

    /// Returns false if unchanged.
    func setTakenOver(_ isTakenOver: Bool, of chat: Int64) throws -> Bool {
        try connection.execute(
            "UPDATE chat SET is_taken_over = ? WHERE id = ? AND is_taken_over != ?", isTakenOver, chat,
            isTakenOver) > 0
    }

    private static let awaitsKeys =
        "Messages here wait: this profile and the contact's program agree on new keys first, for which both must "
        + "come online. If the agreement does not end, 'chatfs contact renew' sends this profile's keys again."

    private static let isRefused =
        "The contact's messaging server refuses messages here, as it does after the contact has deleted this "
        + "connection. ChatFS retries for at least a day; if it still refuses then, the contact counts as gone."

    /// Returns false if unchanged.
    func setRefused(_ isRefused: Bool, of chat: Int64) throws -> Bool {
        try connection.execute(
            "UPDATE chat SET is_refused = ? WHERE id = ? AND is_refused != ?", isRefused, chat, isRefused) > 0
    }

    /// The user's verification of a contact.
    struct Verification: Hashable, Sendable {
        var state = ContactVerification.unverified
        /// The compared code; only for `verified`.
        var code: String?
        var isRequired = false
    }

    func verification(of chat: Int64) throws -> Verification {
        try connection.first(
            "SELECT verification, verified_code, requires_verification FROM chat WHERE id = ?", chat
        ) { row in
            Verification(
                state: try row.value("verification", as: ContactVerification.self),
                code: row.textOrNil("verified_code"), isRequired: row.bool("requires_verification"))
        } ?? Verification()
    }

    func set(_ verification: Verification, of chat: Int64) throws {
        try connection.execute(
            "UPDATE chat SET verification = ?, verified_code = ?, requires_verification = ? WHERE id = ?",
            verification.state, verification.code, verification.isRequired, chat)
    }

    func keys(of chat: Int64) throws -> StoredKeys? {
        try connection.first("SELECT keys FROM chat WHERE id = ?", chat) {
            try $0.valueOrNil("keys", as: StoredKeys.self)
        } ?? nil
    }

    func setKeys(_ keys: StoredKeys?, of chat: Int64) throws {
        try connection.execute("UPDATE chat SET keys = ? WHERE id = ?", keys, chat)
    }

    // MARK: - Local groups

    func insertGroup(_ name: String, at time: Timestamp) throws -> Int64 {
        try connection.execute("INSERT INTO chat_group (name, created) VALUES (?, ?)", name, time)
        return connection.lastInsertedID
    }

    /// Adds a member and its side of the chat.
    func addMember(
        _ profile: Int64, as role: StoredMemberRole, to group: Int64, at time: Timestamp
    ) throws -> ChatSide {
        try connection.execute(
            "INSERT INTO member (chat_group, profile, role) VALUES (?, ?, ?)", group, profile, role)
        try connection.execute(
            "INSERT INTO chat (profile, kind, chat_group, updated) VALUES (?, ?, ?, ?)",
            profile, StoredChatKind.group, group, time)
        return ChatSide(profile: profile, chat: connection.lastInsertedID)
    }
}
