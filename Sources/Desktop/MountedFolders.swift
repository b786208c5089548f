import ChatCore

/// The chat folders of this process's mount.
struct MountedFolders: FolderNaming {
    /// Returns nil while a chat has no folder.
    let name: @Sendable (ChatReference) -> String?

    func folders(of chats: [Chat]) async -> [ChatReference: String] {
        await names(of: chats.map(\.reference))
    }

    /// Waits at most a second, because a new chat gets its folder shortly after the core knows it.
    func names(of chats: [ChatReference]) async -> [ChatReference: String] {
        let end = ContinuousClock.now + .seconds(1)
        while true {
            var names: [ChatReference: String] = [:]
            for chat in chats { names[chat] = name(chat) }
            if names.count == chats.count || ContinuousClock.now >= end { return names }
            // A cancelled task returns the known names.
            guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { return names }
        }
    }
}
