import Base
import ChatCore
import Namespace
import Posix

/// Changes the tree without the kernel's doing: in the index, on show, and then told to the kernel. Has no state of
/// its own.
final class TreeUpdater: Sendable {
    private let names: Namespace
    private let core: any ChatCore
    private let contents: any ContentStore
    private let loader: FolderLoader
    private let kernel: KernelConnection
    private let memory: ItemMemory
    private let clock: any WallClock

    init(
        names: Namespace, core: any ChatCore, contents: any ContentStore, loader: FolderLoader,
        kernel: KernelConnection, memory: ItemMemory, clock: any WallClock
    ) {
        self.names = names
        self.core = core
        self.contents = contents
        self.loader = loader
        self.kernel = kernel
        self.memory = memory
        self.clock = clock
    }

    /// Makes one change of the index on a thread that may wait for the disk.
    func change(_ body: @escaping @Sendable () throws -> [NamespaceChange]) async throws {
        for change in try await ThreadPool.shared.run(body) {
            switch change {
            case .appeared(let node):
                kernel.notify(.entry(node.name, in: node.folder))
            case .vanished(let id, let name, let folder):
                memory.remove(id, in: folder)
                kernel.notify(.entry(name, in: folder))
            case .changed(let node): kernel.notify(.attributes(node.id))
            }
        }
    }

    /// Shows items that came or changed.
    func show(_ items: [ChatItem]) async throws {
        for chat in Set(items.map(\.chat)) { try await loader.settle(chat) }
        for item in items { contents.update(item) }
        let now = clock.now()
        try await change { [names] in try names.show(items, at: now) }
        for folder in Set(items.compactMap { names.node(of: $0.id)?.folder }) { memory.use(folder) }
    }

    /// Shows what became of an item that nobody knew until now: what happened to it meanwhile was not for anybody.
    /// Where the core does not say, its next event of it does.
    func showCurrent(_ item: ChatItem) async throws {
        if let current = try? await core.item(item.id, in: item.chat) { try await show([current]) }
    }
}
