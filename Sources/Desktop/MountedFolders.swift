import ChatCore

/// The folders of this process's mount.
struct MountedFolders: FolderNaming {
    /// nil while a chat has no folder.
    let name: @Sendable (ChatReference) -> String?

    func folders(of chats: [Chat]) async -> [ChatReference: String] {
        await names(of: chats.map(\.reference))
    }

    /// Waits up to a second: a new chat has its folder when the mount has heard of it, a moment after the core.
    func names(of chats: [ChatReference]) async -> [ChatReference: String] {
        let end = ContinuousClock.now + .seconds(1)
        while true {
            var names: [ChatReference: String] = [:]
            for chat in chats { names[chat] = name(chat) }
            if names.count == chats.count || ContinuousClock.now >= end { return names }
            // Of a cancelled task what is known.
            guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { return names }
        }
    }
}
