import Base
import ChatCore
import Namespace
import Posix

/// Changes the tree without the kernel's doing: in the index, on show, and then told to the kernel and to programs that
/// listen. Has no state of
/// its own.
final class TreeUpdater: Sendable {
    private let names: Namespace
    private let core: any ChatCore
    private let contents: any ContentStore
    private let loader: FolderLoader
    private let kernel: KernelConnection
    private let watchers: FolderWatchers
    private let announcer: TreeAnnouncer
    private let memory: ItemMemory
    private let clock: any WallClock

    init(
        names: Namespace, core: any ChatCore, contents: any ContentStore, loader: FolderLoader,
        kernel: KernelConnection, watchers: FolderWatchers, announcer: TreeAnnouncer, memory: ItemMemory,
        clock: any WallClock
    ) {
        self.names = names
        self.core = core
        self.contents = contents
        self.loader = loader
        self.kernel = kernel
        self.watchers = watchers
        self.announcer = announcer
        self.memory = memory
        self.clock = clock
    }

    /// Makes one change of the index on a thread that may wait for the disk.
    @discardableResult
    func change(
        _ body: @escaping @Sendable () throws -> [NamespaceChange]
    ) async throws -> [NamespaceChange] {
        let changes = try await ThreadPool.shared.run(body)
        for change in changes {
            announcer.tell(change)
            switch change {
            case .appeared(let node):
                kernel.notify(.entry(node.name, in: node.folder))
            case .vanished(let id, let name, let folder):
                memory.remove(id, in: folder)
                kernel.notify(.entry(name, in: folder))
            case .changed(let node): kernel.notify(.attributes(node.id))
            }
        }
        tellWatchers(of: changes[...])
        return changes
    }

    private func tellWatchers(of items: [ChatItem], beyond changes: [NamespaceChange]) {
        let told = Set(changes.compactMap { if case .appeared(let node) = $0 { node.id } else { nil } })
        for node in items.compactMap({ names.node(of: $0.id) }) where !told.contains(node.id) {
            watchers.appeared(node)
        }
    }

    private func tellWatchers(of changes: ArraySlice<NamespaceChange>) {
        var changes = changes
        while let change = changes.popFirst() {
            switch change {
            case .appeared(let node): watchers.appeared(node)
            case .changed(let node): watchers.changed(node)
            case .vanished(let id, let name, let folder):
                // Gone, and there again at once under another name.
                if case .appeared(let node) = changes.first, node.id == id, node.folder == folder {
                    changes = changes.dropFirst()
                    watchers.renamed(node, from: name)
                } else {
                    watchers.vanished(id, name, in: folder)
                }
            }
        }
    }

    /// Shows items that came or changed.
    /// - Parameter areNew: they have just come, also where whoever loaded their chat was faster with them.
    func show(_ items: [ChatItem], areNew: Bool = false) async throws {
        for chat in Set(items.map(\.chat)) { try await loader.settle(chat) }
        for item in items { contents.update(item) }
        let now = clock.now()
        let changes = try await change { [names] in try names.show(items, at: now) }
        if areNew { tellWatchers(of: items, beyond: changes) }
        for folder in Set(items.compactMap { names.node(of: $0.id)?.folder }) { memory.use(folder) }
    }

    /// Shows what became of an item that nobody knew until now: what happened to it meanwhile was not for anybody.
    /// Where the core does not say, its next event of it does.
    func showCurrent(_ item: ChatItem) async throws {
        if let current = try? await core.item(item.id, in: item.chat) { try await show([current]) }
    }
}
