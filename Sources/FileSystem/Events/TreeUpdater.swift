import Base
import ChatCore
import Namespace
import Posix

/// Changes the tree without a kernel request: in the index, in memory, and then through `TreeNotices`. Stateless.
struct TreeUpdater: Sendable {
    let names: Namespace
    let core: any ChatCore
    let contents: any ContentStore
    let loader: FolderLoader
    let notices: TreeNotices
    let memory: ItemMemory
    let clock: any WallClock

    /// Runs one change of the index on a blocking thread.
    @discardableResult
    func change(
        _ body: @escaping @Sendable () throws -> [NamespaceChange]
    ) async throws -> [NamespaceChange] {
        let changes = try await ThreadPool.shared.run(body)
        for case .vanished(let id, _, let folder) in changes { memory.remove(id, in: folder) }
        notices.happened(changes)
        return changes
    }

    /// Shows new or changed items.
    /// - Parameter areNew: True if the items just arrived, even if a concurrent loading already showed them.
    /// - Returns: Whether an entry changed; false also if a loading had already shown the new state.
    @discardableResult
    func show(_ items: [ChatItem], areNew: Bool = false) async throws -> Bool {
        for chat in Set(items.map(\.chat)) { try await loader.settle(chat) }
        for item in items { contents.update(item) }
        let now = clock.now()
        let changes = try await change { [names] in try names.show(items, at: now) }
        if areNew {
            let told = Set(changes.compactMap { if case .appeared(let node) = $0 { node.id } else { nil } })
            notices.arrived(items.compactMap { names.node(of: $0.id) }.filter { !told.contains($0.id) })
        }
        for folder in Set(items.compactMap { names.node(of: $0.id)?.folder }) { memory.use(folder) }
        return !changes.isEmpty
    }

    /// Shows the progress of a file that is in memory and transferring.
    func advance(_ progress: FileProgress) async throws {
        try await loader.settle(progress.chat)
        contents.advance(progress)
        try await change { [names] in try names.advance(progress) }
    }

    /// Shows the current state of an item that was unknown until now; its earlier events had no entry. If the core
    /// fails to report the item, its next event corrects the entry.
    func showCurrent(_ item: ChatItem) async throws {
        if let current = try? await core.item(item.id, in: item.chat) { try await show([current]) }
    }
}
