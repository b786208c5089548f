import ChatCore
import Store

/// Renaming and leaving. Whoever has the profile mounted learns of it at once.
extension DataDirectory {
    /// Gives a profile another name. Its contacts see it; their folders keep their names.
    public func renameProfile(_ profile: Profile, to name: String) throws(ChatError) {
        let name = try DisplayName.checked(name, of: "profile")
        try wrapping {
            try database.transaction { connection in
                if try connection.exists(
                    "SELECT 1 FROM profile WHERE name = ? AND id != ?", name, profile.id)
                {
                    throw ChatError(.nameTaken, "There is already a profile \(name).")
                }
                try connection.execute("UPDATE profile SET name = ? WHERE id = ?", name, profile.id)
                try Self.tell("SELECT profile, id FROM chat WHERE contact = ?", profile.id, connection)
            }
        }
        bell.ring()
    }

    /// Gives a chat the name that its user wants to see; nobody else sees it.
    public func rename(_ chat: ChatReference, of profile: Profile, to name: String) throws(ChatError) {
        let name = try DisplayName.checked(name, of: "chat")
        try wrapping {
            try database.transaction { connection in
                let id = try Self.id(of: chat, of: profile, connection)
                let isTaken = try ItemRows.chats(of: profile.id, connection).contains {
                    $0.displayName == name && $0.reference != chat
                }
                if isTaken { throw ChatError(.nameTaken, "There is already a chat \(name).") }
                try connection.execute("UPDATE chat SET alias = ? WHERE id = ?", name, id)
                try News.chatUpdated(id).post(to: profile.id, connection)
            }
        }
        bell.ring()
    }

    /// Ends a chat: nothing goes in or comes any more, what it holds stays.
    public func leave(_ chat: ChatReference, of profile: Profile) throws(ChatError) {
        try wrapping {
            try database.transaction { connection in
                let id = try Self.id(of: chat, of: profile, connection)
                guard
                    try connection.exists("SELECT 1 FROM chat WHERE id = ? AND ended IS NULL", id)
                else { throw ChatError(.invalidCommand, "This chat has ended already.") }
                try Self.end(id, connection)
            }
        }
        bell.ring()
    }

    /// The same within a transaction, also of a chat that has ended.
    static func end(_ chat: Int64, _ connection: Connection) throws {
        try connection.execute(
            "UPDATE chat SET ended = coalesce(ended, ?) WHERE id = ?", ChatEnding.left.rawValue, chat)
        try connection.execute(
            """
            DELETE FROM member WHERE (chat_group, profile) IN
            (SELECT chat_group, profile FROM chat WHERE id = ? AND chat_group IS NOT NULL)
            """, chat)
        try tell("SELECT profile, id FROM chat WHERE id = ?", chat, connection)
        let others = """
            FROM chat other JOIN chat own ON other.profile = own.contact AND other.contact = own.profile
            WHERE own.id = ? AND other.ended IS NULL
            """
        try tell("SELECT other.profile, other.id \(others)", chat, connection)
        try connection.execute(
            "UPDATE chat SET ended = ? WHERE id IN (SELECT other.id \(others))",
            ChatEnding.contactLeft.rawValue, chat)
    }

    /// Has those who hold the chats look at them again.
    static func tell(_ query: String, _ value: Int64, _ connection: Connection) throws {
        for (profile, chat) in try connection.query(query, value, row: { ($0.integer(0), $0.integer(1)) }) {
            try News.chatUpdated(chat).post(to: profile, connection)
        }
    }

    private static func id(
        of chat: ChatReference, of profile: Profile, _ connection: Connection
    ) throws -> Int64 {
        let id: Int64
        switch chat {
        case .direct(let number), .group(let number): id = number
        case .notes: throw ChatError(.invalidCommand, "Saved notes belong to the profile.")
        }
        guard
            try connection.exists("SELECT 1 FROM chat WHERE id = ? AND profile = ?", id, profile.id)
        else { throw ChatError.noSuchChat }
        return id
    }
}
