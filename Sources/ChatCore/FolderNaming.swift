/// Returns the folder names of a profile's chats, from the name index or the running mount.
public protocol FolderNaming: Sendable {
    /// Returns the folder name of each chat. Chats without one are omitted.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    func folders(of chats: [Chat]) async throws(ChatError) -> [ChatReference: String]
}

extension FolderNaming {
    /// Returns a core's chats with the words that select them.
    /// - Throws: the errors of `ChatReading.chats` and `folders(of:)`.
    public func chats(of core: any ChatReading) async throws(ChatError) -> NamedChats {
        let chats = try await core.chats()
        return NamedChats(chats, folders: try await folders(of: chats))
    }
}
