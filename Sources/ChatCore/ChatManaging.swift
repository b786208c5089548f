/// The chats themselves: their names, and their end. The notes belong to the profile and are refused
/// (`.invalidCommand`), as is everything where chats are changed elsewhere.
///
/// What changes is told by `events` as everything else: chatUpdated, chatItemsDeleted, and chatRemoved at the end of
/// a chat that was deleted.
public protocol ChatManaging: OpenProfile {
    /// Gives a chat the name that its user wants to see, its alias; nobody else sees it. What peers call themselves
    /// stands in nobody's way.
    /// - Throws: `.noSuchChat`, `.nameTaken` for the alias of another chat, `.invalidCommand` for the form of the name.
    func renameChat(_ chat: ChatReference, to name: String) async throws(ChatError)

    /// Ends a chat: nothing goes in or comes any more, what it holds stays.
    /// - Throws: `.noSuchChat`, `.invalidCommand` for one that has ended.
    func leaveChat(_ chat: ChatReference) async throws(ChatError)

    /// Leaves a chat and deletes all that it holds here. What the others have stays theirs.
    /// - Throws: `.noSuchChat`. Where it fails after that, a part may be deleted; the same again does the rest.
    func deleteChat(_ chat: ChatReference) async throws(ChatError)
}

extension ChatManaging {
    /// For cores whose chats are changed elsewhere.
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
