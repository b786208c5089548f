import Base
import ChatCore
import Hydration
import Namespace
import Posix

/// Applies core events to the tree. An event that fails part-way can be applied again as a whole. Stateless.
struct CoreEvents: Sendable {
    let names: Namespace
    let contents: any ContentStore
    let outbox: any DraftStore
    let loader: FolderLoader
    let control: ControlFiles
    let notices: TreeNotices
    let tree: TreeUpdater
    let messages: MessageFiles
    let folders: PastedFolders
    let user: UserConnection
    private let log = Log("filesystem")

    func take(_ event: ChatEvent) async throws {
        switch event {
        case .itemChanged(let item, _): try await update(item)
        case .newChatItems(let items):
            // Also after a failure, because the next try may be late.
            defer { user.notify(.arrived(items)) }
            try await tree.show(items, areNew: true)
        case .chatItemsDeleted(let deleted, let reason): try await remove(deleted, reason)
        case .chatUpdated(let chat):
            try await messages.follow(chat.reference) {
                try await tree.change { [names] in try names.show([chat]) }
            }
        case .chatRemoved(let chat):
            try await messages.follow(chat, isRemoved: true) { try await remove(chat) }
        case .messageLogGrew(let chat, let log): messages.grew(chat, log)
        case .fileProgress(let progress): try await tree.advance(progress)
        case .coreUnreachable(let reason, _):
            control.coreReachabilityChanged(problem: reason)
            notices.coreChanged(problem: reason)
        case .coreReachable:
            control.coreReachabilityChanged(problem: nil)
            notices.coreChanged(problem: nil)
            outbox.retryPostponed()
        default:
            // Standalone files have no entries.
            break
        }
    }

    /// Shows a file that the control process sent without the mount. The core reports no event for it.
    func wasSent(_ item: ChatItem) async throws {
        try await tree.show([item])
        try await tree.showCurrent(item)
    }

    private func update(_ item: ChatItem) async throws {
        try await loader.settle(item.chat)
        // The outbox, which has the name, is about to report this sent file.
        if item.direction == .sent,
            try await ThreadPool.shared.run({ [names] in try names.id(of: item.id) }) == nil
        {
            return notices.counted()
        }
        if try await !tree.show([item]), item.file != nil { notices.counted() }
    }

    private func remove(
        _ deleted: [(chat: ChatReference, item: ItemID)], _ reason: DeletionReason
    ) async throws {
        let items = deleted.map(\.item)
        user.notify(.removed(items))
        for chat in Set(deleted.map(\.chat)) { try await loader.settle(chat) }
        let contents = await ThreadPool.shared.run { self.contentsOfItems(items) }
        // Runs even if the index write fails.
        defer { for content in contents { forget(content, reason) } }
        let changes = try await tree.change { [names] in try names.remove(items) }
        if changes.isEmpty { notices.counted() }
    }

    private struct ItemContent {
        var file: FileID
        var node: NodeID?
    }

    /// Returns the files of items deleted in the core. An item that is not in memory has a content if its file is open,
    /// retained or cached. Blocks.
    private func contentsOfItems(_ items: [ItemID]) -> [ItemContent] {
        let present = Dictionary(
            contents.present().compactMap { item in item.file.map { (item.id, $0.id) } },
            uniquingKeysWith: { first, _ in first })
        return items.compactMap { id in
            if let node = names.node(of: id), case .item(let item) = node.content, let file = item.file {
                return ItemContent(file: file.id, node: node.id)
            }
            // If the index cannot be read, the event is retried.
            return present[id].map { ItemContent(file: $0, node: (try? names.id(of: id)) ?? nil) }
        }
    }

    /// Removes a deleted chat with its drafts.
    private func remove(_ chat: ChatReference) async throws {
        guard let folder = names.node(of: chat)?.id else { return }
        await ThreadPool.shared.run { [outbox, log] in
            for draft in outbox.draftFiles() where draft.chat == chat && draft.state != .recovered {
                do {
                    try outbox.remove(draft.id)
                } catch {
                    // The core refuses the draft or has deleted its message.
                    log.notice("draft of a deleted chat not removed: error=\(sentenceWithCauses(of: error))")
                }
            }
        }
        folders.remove(inChat: folder)
        try await tree.change { [names] in try names.remove(folder: folder) }
    }

    /// Drops a deleted file's content. Open handles continue with local bytes, and the kernel's pages go with the last
    /// handle. Content that expired or was moderated is dropped at once.
    private func forget(_ content: ItemContent, _ reason: DeletionReason) {
        contents.remove(content.file, atOnce: reason != .deleted)
        // The name is gone, so `ContentNotices` could not find the node.
        if reason != .deleted, let node = content.node { notices.contentChanged(node) }
    }
}

/// Reports hydration changes to `TreeNotices`. Stateless; never changes a name.
struct ContentNotices: Sendable {
    let names: Namespace
    let contents: any ContentStore
    let notices: TreeNotices
    let types: ContentTypes

    func changes() -> AsyncStream<HydrationChange> { contents.changes() }

    func tell(_ change: HydrationChange) async {
        switch change {
        case .conditionChanged(let file):
            guard let node = await node(of: file) else { return notices.counted() }
            let present = names.node(of: file)
            if let present { types.arrived(present) }
            notices.changed(node, present)
        case .contentInvalid(let file):
            if let node = await node(of: file) { notices.contentChanged(node) }
        }
    }

    /// The kernel may hold a reference although the entry is not in memory.
    private func node(of file: FileID) async -> NodeID? {
        if let node = names.node(of: file) { return node.id }
        guard let item = contents.present().first(where: { $0.file?.id == file }) else { return nil }
        // If the index cannot be read, the kernel keeps its attributes until they expire.
        return try? await ThreadPool.shared.run { [names] in try names.id(of: item.id) }
    }
}
