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
    private let kernel: KernelConnection
    private let tree: TreeUpdater
    private let log = Log("filesystem")

    init(
        names: Namespace, contents: any ContentStore, outbox: any DraftStore, loader: FolderLoader,
        control: ControlFiles, kernel: KernelConnection, tree: TreeUpdater
    ) {
        self.names = names
        self.contents = contents
        self.outbox = outbox
        self.loader = loader
        self.control = control
        self.kernel = kernel
        self.tree = tree
    }

    func take(_ event: ChatEvent) async throws {
        if let item = event.changedItem { return try await update(item) }
        switch event {
        case .newChatItems(let items): try await tree.show(items)
        case .chatItemsDeleted(let deleted, let reason): try await remove(deleted, reason)
        case .chatUpdated(let chat):
            try await tree.change { [names] in try names.show([chat]) }
            try await loader.load(chat.reference)
        case .chatRemoved(let chat): try await remove(chat)
        case .coreUnreachable(let reason):
            control.coreReachabilityChanged(problem: reason)
        case .coreReachable:
            control.coreReachabilityChanged(problem: nil)
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
        // A sent file that is not known yet is about to be told by the outbox, with its name.
        try await loader.load(item.chat)
        guard item.direction == .received || names.node(of: item.id) != nil else { return }
        try await tree.show([item])
    }

    private func remove(
        _ deleted: [(chat: ChatReference, item: ItemID)], _ reason: DeletionReason
    ) async throws {
        for chat in Set(deleted.map(\.chat)) { try await loader.load(chat) }
        let nodes = deleted.compactMap { names.node(of: $0.item) }
        // Also when the index cannot be written.
        defer { for node in nodes { forgetContent(of: node, reason) } }
        try await tree.change { [names] in try names.remove(deleted.map(\.item)) }
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
        try await tree.change { [names] in try names.remove(folder: folder) }
    }

    /// Who has a deleted file open goes on with the bytes that are here, and the kernel's pages of it go with
    /// the last of them. Nobody keeps anything of what disappeared or was moderated.
    private func forgetContent(of node: Node, _ reason: DeletionReason) {
        guard case .item(let item) = node.content, let file = item.file else { return }
        contents.remove(file.id, atOnce: reason != .deleted)
        // The name is gone by now, so nobody else finds the node for the hydrator's own notice of it.
        if reason != .deleted { kernel.notify(.content(node.id)) }
    }
}

/// Tells the kernel what became of the bytes of entries. Changes no name. Has no state of its own.
struct ContentNotices: Sendable {
    private let names: Namespace
    private let contents: any ContentStore
    private let kernel: KernelConnection

    init(names: Namespace, contents: any ContentStore, kernel: KernelConnection) {
        self.names = names
        self.contents = contents
        self.kernel = kernel
    }

    func changes() -> AsyncStream<HydrationChange> { contents.changes() }

    func tell(_ change: HydrationChange) {
        switch change {
        case .conditionChanged(let file):
            if let node = names.node(of: file) { kernel.notify(.attributes(node.id)) }
        case .contentInvalid(let file):
            if let node = names.node(of: file) { kernel.notify(.content(node.id)) }
        }
    }
}
