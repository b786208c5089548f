/// Knows the folders of a profile's chats: the index of names or, while the profile is mounted, its mount.
public protocol FolderNaming: Sendable {
    /// The name of each chat's folder. Chats that have none yet are missing.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    func folders(of chats: [Chat]) async throws(ChatError) -> [ChatReference: String]
}

extension FolderNaming {
    /// The chats of a core with the words that select them.
    /// - Throws: as `ChatReading.chats` and `folders(of:)`.
    public func chats(of core: any ChatReading) async throws(ChatError) -> NamedChats {
        let chats = try await core.chats()
        return NamedChats(chats, folders: try await folders(of: chats))
    }
}
