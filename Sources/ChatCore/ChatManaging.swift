/// Changes of chats: names, leaving and deletion. Throws `.invalidCommand` for the notes, and for cores whose
/// chats are managed elsewhere.
///
/// Events report the changes: chatUpdated, chatItemsDeleted, and finally chatRemoved for a deleted chat.
public protocol ChatManaging: OpenProfile {
    /// Sets the user's alias of a chat, which no other person sees. Names chosen by peers do not conflict
    /// with it.
    /// - Throws: `.noSuchChat`, `.nameTaken` if another chat has this alias, `.invalidCommand` for a
    ///   malformed name.
    func renameChat(_ chat: ChatReference, to name: String) async throws(ChatError)

    /// Ends a chat. It sends and receives no more, but keeps its contents.
    /// - Throws: `.noSuchChat`, `.invalidCommand` for an ended chat.
    func leaveChat(_ chat: ChatReference) async throws(ChatError)

    /// Leaves a chat and deletes its local contents. Other members keep theirs.
    /// - Throws: `.noSuchChat`. After another error the chat may be partly deleted; repeat the call.
    func deleteChat(_ chat: ChatReference) async throws(ChatError)
}

extension ChatManaging {
    /// For cores whose chats are managed elsewhere.
    public func renameChat(_ chat: ChatReference, to name: String) async throws(ChatError) {
        throw .notManaged
    }
    public func leaveChat(_ chat: ChatReference) async throws(ChatError) { throw .notManaged }
    public func deleteChat(_ chat: ChatReference) async throws(ChatError) { throw .notManaged }
}

extension ChatError {
    fileprivate static let notManaged = ChatError(
        .invalidCommand, "The chats of this core are not changed by ChatFS.")
}
