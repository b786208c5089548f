import Base
import ChatCore
import Store

/// Reduces a copied database to selected chats, and lists the files that it names.
struct SelectionTable {
    let connection: Connection

    /// Keeps some chats of one profile and deletes all else. The chats end; other people remain as names
    /// only.
    func keep(_ chats: [Int64], of profile: Int64) throws {
        let kept = chats.map(String.init).joined(separator: ", ")
        try connection.execute("DELETE FROM item WHERE profile != ? OR chat NOT IN (\(kept))", profile)
        try connection.execute("DELETE FROM file WHERE item IS NULL OR profile != ?", profile)
        try connection.execute("UPDATE item SET origin = NULL")
        for table in ["relay", "approval", "messaging_server"] {
            try connection.execute("DELETE FROM \(table) WHERE profile != ?", profile)
        }
        try connection.execute(
            "UPDATE file SET status = ?, problem = ?, problem_sentence = ? WHERE transport = ? AND inline_content IS NULL "
                + "AND status IN (\(StoredFileStatus.list(StoredFileStatus.offered + StoredFileStatus.downloading)))",
            StoredFileStatus.rcvError, FileProblem.leftBeforeSent.kind.rawValue,
            FileProblem.leftBeforeSent.sentence,
            ChatFile.Transport.smp.rawValue)
        // Connections stay with the original profile, as only one may receive their messages.
        for table in [
            "news", "chunk_deletion", "connection", "shared_message", "outgoing", "contact_address",
            "refused_server",
            "contact_request", "network_group", "network_member", "member_connection", "group_delivery",
            "held_outgoing", "early_message", "handed_message", "damaged_copy", "inline_transfer", "part",
            "unasked_budget",
        ] {
            try connection.execute("DELETE FROM \(table)")
        }
        try connection.execute(
            """
            UPDATE chat SET ended = coalesce(ended, ?), contact = NULL,
                alias = coalesce(alias, (SELECT name FROM profile WHERE id = chat.contact))
            WHERE kind = 'direct'
            """, StoredChatEnding.contactDeleted)
        try connection.execute(
            "UPDATE chat SET ended = coalesce(ended, ?) WHERE kind = 'group'", StoredChatEnding.left)
        // Every profile has a notes chat.
        try connection.execute(
            "DELETE FROM chat WHERE profile != ? OR id NOT IN (\(kept)) AND kind != ?", profile,
            StoredChatKind.notes)
        try connection.execute("DELETE FROM message_line WHERE chat NOT IN (\(kept))")
        try connection.execute("DELETE FROM member")
        try connection.execute(
            """
            DELETE FROM chat_group WHERE id NOT IN (SELECT chat_group FROM chat WHERE chat_group IS NOT NULL)
            """)
        try connection.execute("DELETE FROM profile WHERE id != ?", profile)
    }

    /// Returns the profile, name and key of every CryptoFile, without the place of its content; nil for a row without
    /// a key.
    func storedFiles() throws -> [(profile: Int64, name: String, arguments: FileArguments?)] {
        try connection.query(
            "SELECT profile, stored_name, key, nonce FROM file WHERE stored_name IS NOT NULL ORDER BY id"
        ) { row in
            var arguments: FileArguments?
            if let key = row.bytesOrNil("key"), let nonce = row.bytesOrNil("nonce") {
                arguments = FileArguments(key: key, nonce: nonce)
            }
            return (row.integer("profile"), row.text("stored_name"), arguments)
        }
    }
}
