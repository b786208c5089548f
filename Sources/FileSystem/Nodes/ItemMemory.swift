import Base
import Namespace
import Posix

/// Lets go of the items of folders that nobody uses: at once when the kernel has forgotten the last of them, and those
/// used longest ago when there are too many in memory. What was let go is loaded again when somebody looks, also by
/// number, so this is never wrong, at worst slow. Folders with drafts or open files stay. Any thread, from memory.
final class ItemMemory: Sendable {
    /// Items in memory, beyond those of the folder used last: some 10 MiB.
    static let usualLimit = 16_384
    /// Bytes of their texts for each item that may be in memory: usual ones have less.
    static let textBytesPerItem = 256

    private let names: Namespace
    private let handles: HandleTable
    private let limit: Int
    private let residency = Lock(Residency())
    private let log = Log("filesystem")

    init(names: Namespace, handles: HandleTable, limit: Int) {
        self.names = names
        self.handles = handles
        self.limit = limit
    }

    /// Items of a folder came into memory, or somebody looks at all of them.
    func use(_ folder: NodeID) {
        residency.withLock { $0.use(folder) }
        if isFull { ThreadPool.shared.submit { self.makeRoom() } }
    }

    /// Items of a folder came into memory that nobody has asked for yet.
    func keep(_ folder: NodeID) { residency.withLock { $0.keep(folder) } }

    /// The kernel is told of a node that it keeps from then on, until `forget`.
    func tell(_ node: Node) {
        guard case .item = node.content else { return }
        residency.withLock { $0.tell(node.id, in: node.folder) }
    }

    func forget(_ id: NodeID, _ count: UInt64) {
        guard let node = names.node(id), case .item = node.content else { return }
        guard residency.withLock({ $0.forget(id, count, in: node.folder) }) else { return }
        // Waits for a change of the tree that is under way: not on a thread that answers requests.
        ThreadPool.shared.submit { self.letGoUnlessKnown(node.folder) }
    }

    func remove(_ id: NodeID, in folder: NodeID) { residency.withLock { $0.remove(id, in: folder) } }

    private var isFull: Bool {
        names.itemCount > limit || names.textBytes > limit * Self.textBytesPerItem
    }

    // MARK: - On a thread that may block

    private func letGoUnlessKnown(_ folder: NodeID) {
        guard !residency.withLock({ $0.isKnown(folder) }) else { return }
        letGo(folder)
    }

    private func makeRoom() {
        for folder in residency.withLock({ $0.candidates }) {
            guard isFull else { return }
            letGo(folder)
        }
    }

    private func letGo(_ folder: NodeID) {
        guard !names.hasDrafts(folder), !handles.hasOpen(in: folder) else { return }
        residency.withLock { $0.letGo(folder) }
        names.letGo(folder)
    }
}
