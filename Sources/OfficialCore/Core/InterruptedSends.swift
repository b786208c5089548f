import ChatCore

/// Sends that a killed core had begun.
///
/// The core notes the file, makes the message, gives it to its agent, which sends it whatever happens to the
/// chat, and only then makes the item (6.4.5). When it is killed before the last step, the others have the
/// message and nobody finds an item: sent once more, they would have the file twice.
extension OfficialCore {
    /// Whether there is a message that belongs to no item and was made after the core had noted a file from
    /// `folder`, which has none either. False, too, from a core that answers no questions about its database.
    func mayBeSentWithoutItem(_ folder: String) async throws(ChatError) -> Bool {
        let orphans = try await pairs(
            .query(
                "SELECT 'orphans', count(*) FROM messages m WHERE m.msg_sent = 1 "
                    + "AND m.chat_msg_event = 'x.msg.new' AND m.created_at >= (SELECT max(f.created_at) "
                    + "FROM files f WHERE instr(f.file_path, '/\(folder)/') > 0 AND f.chat_item_id IS NULL) "
                    + "AND NOT EXISTS (SELECT 1 FROM chat_item_messages c WHERE c.message_id = m.message_id)")
        )
        return orphans["orphans", default: 0] > 0
    }
}
