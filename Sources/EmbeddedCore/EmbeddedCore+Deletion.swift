import ChatCore
import Glibc
import Posix
import Store

/// Deleting chats and the profile: for who holds the profile and has nothing mounted.
extension EmbeddedCore {
    /// Leaves a chat and deletes all that it holds here. What the others have stays theirs.
    public func deleteChat(_ chat: ChatReference) async throws(ChatError) {
        if case .notes = chat { throw ChatError(.invalidCommand, "Saved notes belong to the profile.") }
        let id = try await work { [self] in
            try commit { change in
                let id = try chatID(chat, change.connection)
                try DataDirectory.end(id, change.connection)
                return id
            }
        }
        try await deleteItems(of: chat, id)
        try await work { [self] in
            try commit { change in
                let group = try change.connection.first(
                    "SELECT chat_group FROM chat WHERE id = ?", id
                ) { $0.integerOrNil(0) }
                try change.connection.execute("DELETE FROM chat WHERE id = ?", id)
                guard let group = group ?? nil else { return }
                try change.connection.execute(
                    """
                    DELETE FROM chat_group WHERE id = ?
                    AND NOT EXISTS (SELECT 1 FROM chat WHERE chat_group = chat_group.id)
                    AND NOT EXISTS (SELECT 1 FROM member WHERE chat_group = chat_group.id)
                    """, group)
            }
            directory.bell.ring()
        }
    }

    private func deleteItems(of chat: ChatReference, _ id: Int64) async throws(ChatError) {
        let items = try await work { [self] in
            try read { context in
                try context.connection.query("SELECT id FROM item WHERE chat = ?", id) {
                    ItemID($0.integer(0))
                }
            }
        }
        try await deleteItems(items, in: chat, mode: .internal)
    }

    /// Deletes the profile with all that it holds, and lets it go. Its contacts keep what they have. Chunks of
    /// unfinished uploads stay on their relays until they expire.
    public func deleteProfile() async throws(ChatError) {
        for chat in try await chats() {
            if case .notes(let id) = chat.reference {
                try await deleteItems(of: chat.reference, id)
            } else {
                try await deleteChat(chat.reference)
            }
        }
        try await work { [self] in
            try commit { try removeRows($0.connection) }
            directory.bell.ring()
        }
        await shutDown()
        try await work { [folders] in
            try PrivateFolder.removeContents(
                of: OpenFile(folders.path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW), keeping: [])
            _ = try Posix.check("remove the folder of a profile") { rmdir(folders.path) }
        }
    }

    private func removeRows(_ connection: Connection) throws {
        try DataDirectory.tell("SELECT profile, id FROM chat WHERE contact = ?", profile.id, connection)
        try connection.execute(
            """
            UPDATE chat SET ended = ?, contact = NULL,
                alias = coalesce(alias, (SELECT name FROM profile WHERE id = chat.contact))
            WHERE contact = ?
            """, ChatEnding.contactDeleted.rawValue, profile.id)
        for table in ["file", "chat", "member", "news", "relay", "approval", "chunk_deletion"] {
            try connection.execute("DELETE FROM \(table) WHERE profile = ?", profile.id)
        }
        try connection.execute("DELETE FROM profile WHERE id = ?", profile.id)
    }
}
