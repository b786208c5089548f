import Base
import ChatCore
import Hydration
import Namespace
import Posix

/// What each event of the core does to the tree. An event that fails half way can be taken again as a whole. Has no
/// state of its own.
final class CoreEvents: Sendable {
    private let names: Namespace
    private let contents: any ContentStore
    private let outbox: any DraftStore
    private let loader: FolderLoader
    private let control: ControlFiles
    private let notices: TreeNotices
    private let tree: TreeUpdater
    private let messages: MessageFiles
    private let folders: PastedFolders
    private let log = Log("filesystem")

    init(
        names: Namespace, contents: any ContentStore, outbox: any DraftStore, loader: FolderLoader,
        control: ControlFiles, notices: TreeNotices, tree: TreeUpdater,
        messages: MessageFiles, folders: PastedFolders
    ) {
        self.folders = folders
        self.names = names
        self.contents = contents
        self.outbox = outbox
        self.loader = loader
        self.control = control
        self.notices = notices
        self.tree = tree
        self.messages = messages
    }

    func take(_ event: ChatEvent) async throws {
        if let item = event.changedItem { return try await update(item) }
        switch event {
        case .newChatItems(let items): try await tree.show(items, areNew: true)
        case .chatItemsDeleted(let deleted, let reason): try await remove(deleted, reason)
        case .chatUpdated(let chat):
            try await messages.follow(chat.reference) {
                try await tree.change { [names] in try names.show([chat]) }
            }
        case .chatRemoved(let chat):
            try await messages.follow(chat, isRemoved: true) { try await remove(chat) }
        case .messageLogGrew(let chat, let log): messages.grew(chat, log)
        case .rcvFileProgressXFTP(let progress), .sndFileProgressXFTP(let progress):
            try await tree.advance(progress)
        case .coreUnreachable(let reason):
            control.coreReachabilityChanged(problem: reason)
            notices.coreChanged(problem: reason)
        case .coreReachable:
            control.coreReachabilityChanged(problem: nil)
            notices.coreChanged(problem: nil)
            outbox.retryPostponed()
        default:
            // Standalone files are no entries.
            break
        }
    }

    /// A file was sent past the mount, by who asked its process to: of that the core does not tell.
    func wasSent(_ item: ChatItem) async throws {
        try await tree.show([item])
        try await tree.showCurrent(item)
    }

    private func update(_ item: ChatItem) async throws {
        try await loader.settle(item.chat)
        // A sent file that has no name yet is about to be told by the outbox, which has its name.
        if item.direction == .sent,
            try await ThreadPool.shared.run({ [names] in try names.id(of: item.id) }) == nil
        {
            return
        }
        try await tree.show([item])
    }

    private func remove(
        _ deleted: [(chat: ChatReference, item: ItemID)], _ reason: DeletionReason
    ) async throws {
        for chat in Set(deleted.map(\.chat)) { try await loader.settle(chat) }
        let items = deleted.map(\.item)
        let contents = await ThreadPool.shared.run { self.contentsOfItems(items) }
        // Also when the index cannot be written.
        defer { for content in contents { forget(content, reason) } }
        try await tree.change { [names] in try names.remove(items) }
    }

    private struct ItemContent {
        var file: FileID
        var node: NodeID?
    }

    /// The files of items that are gone in the core. One that is not in memory has a content here all the same when
    /// something of it is open, retained or in the cache. Blocks.
    private func contentsOfItems(_ items: [ItemID]) -> [ItemContent] {
        let present = Dictionary(
            contents.present().compactMap { item in item.file.map { (item.id, $0.id) } },
            uniquingKeysWith: { first, _ in first })
        return items.compactMap { id in
            if let node = names.node(of: id), case .item(let item) = node.content, let file = item.file {
                return ItemContent(file: file.id, node: node.id)
            }
            // Where the index cannot be read, the event is taken again.
            return present[id].map { ItemContent(file: $0, node: (try? names.id(of: id)) ?? nil) }
        }
    }

    /// Drafts that were to go into a chat that is deleted go with it.
    private func remove(_ chat: ChatReference) async throws {
        guard let folder = names.node(of: chat)?.id else { return }
        await ThreadPool.shared.run { [outbox, log] in
            for draft in outbox.draftFiles() where draft.chat == chat && draft.state != .recovered {
                do {
                    try outbox.remove(draft.id)
                } catch {
                    // On its way: the core refuses it, or has deleted its message.
                    log.notice("a draft of a deleted chat stays: \(sentenceWithCauses(of: error))")
                }
            }
        }
        folders.remove(inChat: folder)
        try await tree.change { [names] in try names.remove(folder: folder) }
    }

    /// Who has a deleted file open goes on with the bytes that are here, and the kernel's pages of it go with
    /// the last of them. Nobody keeps anything of what disappeared or was moderated.
    private func forget(_ content: ItemContent, _ reason: DeletionReason) {
        contents.remove(content.file, atOnce: reason != .deleted)
        // The name is gone by now, so nobody else finds the node for the hydrator's own notice of it.
        if reason != .deleted, let node = content.node { notices.contentChanged(node) }
    }
}

/// Has told what became of the bytes of entries. Changes no name. Has no state of its own.
struct ContentNotices: Sendable {
    private let names: Namespace
    private let contents: any ContentStore
    private let notices: TreeNotices

    init(names: Namespace, contents: any ContentStore, notices: TreeNotices) {
        self.names = names
        self.contents = contents
        self.notices = notices
    }

    func changes() -> AsyncStream<HydrationChange> { contents.changes() }

    func tell(_ change: HydrationChange) async {
        switch change {
        case .conditionChanged(let file):
            guard let node = await node(of: file) else { return }
            notices.changed(node, names.node(of: file))
        case .contentInvalid(let file):
            if let node = await node(of: file) { notices.contentChanged(node) }
        }
    }

    /// The kernel may know it though it is not in memory.
    private func node(of file: FileID) async -> NodeID? {
        if let node = names.node(of: file) { return node.id }
        guard let item = contents.present().first(where: { $0.file?.id == file }) else { return nil }
        // Where the index cannot be read, the kernel keeps what it has for its usual time.
        return try? await ThreadPool.shared.run { [names] in try names.id(of: item.id) }
    }
}
