import Base
import Namespace
import Posix

/// Evicts the items of unused folders: at once when the kernel has forgotten a folder's last item, and in least
/// recently used order when there are too many in memory. Evicted items are loaded again on demand, also by number, so
/// eviction affects only latency. Folders with drafts or open files stay. Thread-safe.
final class ItemMemory: Sendable {
    /// Maximum number of items in memory beyond those of the two folders used last: about 10 MiB.
    static let usualLimit = 16_384
    /// Bytes of text per permitted item; most items need less.
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

    /// Records a use of the folder: its items were loaded or listed.
    func use(_ folder: NodeID) {
        residency.withLock { $0.use(folder) }
        if isFull { ThreadPool.shared.submit { self.makeRoom() } }
    }

    /// Records items that were loaded ahead of requests.
    func keep(_ folder: NodeID) { residency.withLock { $0.keep(folder) } }

    /// Records a reference of the kernel, held until `forget`.
    func tell(_ node: Node) {
        guard case .item = node.content else { return }
        residency.withLock { $0.tell(node.id, in: node.folder) }
    }

    func forget(_ id: NodeID, _ count: UInt64) {
        guard let node = names.node(id), case .item = node.content else { return }
        guard residency.withLock({ $0.forget(id, count, in: node.folder) }) else { return }
        // Waits for a running change of the tree, so it must not run on a request thread.
        ThreadPool.shared.submit { self.letGoUnlessKnown(node.folder) }
    }

    func remove(_ id: NodeID, in folder: NodeID) { residency.withLock { $0.remove(id, in: folder) } }

    private var isFull: Bool {
        names.itemCount > limit || names.textBytes > limit * Self.textBytesPerItem
    }

    // MARK: - On a blocking thread

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
