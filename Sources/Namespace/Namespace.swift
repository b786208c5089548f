import Base
import ChatCore
import Cryptography
import Store

/// The tree of names: nodes by name, by inode number and by item.
///
/// An index database keeps names and inode numbers across mounts; shown nodes are in memory. Lookups and listings hold
/// one lock for a few instructions and never wait for the disk. Changes block on SQLite and must run on a thread that
/// may block. They are written to the index first, then shown.
///
/// Every change has the same three steps: decide, commit, show. `NodeTable` holds the memory, `NameIndex` the stored
/// rows, `PendingChange` the decisions of one change. The extensions for items, drafts and mountpoints add changes and
/// no state.
public final class Namespace: Sendable {
    private struct Dependents {
        var observer: NameObserver?
        var reservation: NameReservation?
    }

    private let database: Database
    let clock: any WallClock
    private let table: Lock<NodeTable>
    /// Serialises changes, disk access included, so that the state on which a change decided is still current when it
    /// is applied, and memory follows the index in order. It guards no memory. Lookups and listings never take this
    /// mutex: only changes do, on threads that may block, since each waits for this database, or for the outbox's in a
    /// pasted folder. Rank: before `table`.
    private let changing = BlockingMutex(rank: .tree)

    private let dependents = Lock(Dependents())

    /// - Parameters:
    ///   - path: Path of a profile's index database.
    ///   - key: Encryption key; nil if not encrypted.
    /// - Throws: `.diskFull`; `.storage`, also for a wrong key and the index of a newer version.
    public init(
        path: String, key: SecretBytes? = nil, clock: any WallClock = SystemWallClock()
    ) throws(NamespaceError) {
        self.clock = clock
        table = Lock(NodeTable(now: clock.now()))
        do {
            // Names lost in a power cut are assigned again identically; changes that cannot be repeated are written
            // durably.
            database = try Database(
                path: path, migrations: NameIndex.migrations, key: key, durability: .eventual,
                reservesSpace: true)
        } catch {
            throw NamespaceError(wrapping: error)
        }
    }

    /// Closes the index. Memory can still be read. Blocks.
    public func close() { database.close() }

    // MARK: - Lookup

    public func node(_ id: NodeID) -> Node? { table.withLock { $0.nodes[id] } }

    public func child(_ name: EntryName, of folder: NodeID) -> Node? {
        table.withLock { $0.child(name, of: folder) }
    }

    public func node(of item: ItemID) -> Node? {
        table.withLock { table in table.items[item].flatMap { table.nodes[$0] } }
    }

    public func node(of file: FileID) -> Node? {
        table.withLock { table in table.files[file].flatMap { table.nodes[$0] } }
    }

    public func node(of draft: DraftID) -> Node? {
        table.withLock { table in table.drafts[draft].flatMap { table.nodes[$0] } }
    }

    public func node(of chat: ChatReference) -> Node? {
        table.withLock { table in table.chats[chat].flatMap { table.nodes[$0] } }
    }

    /// Like `children`; nil if the folder is not completely in memory.
    public func list(_ folder: NodeID, after last: NodeID?, count: Int) -> [Node]? {
        table.withLock { table in
            table.folders[folder]?.isComplete == false
                ? nil : table.children(of: folder, after: last, count: count)
        }
    }

    /// Returns up to `count` nodes of a folder with numbers above `last`, in order of number.
    public func children(of folder: NodeID, after last: NodeID?, count: Int) -> [Node] {
        table.withLock { $0.children(of: folder, after: last, count: count) }
    }

    /// Returns true if all entries of a folder are shown: for a chat's folder since `complete`, for others always.
    public func isComplete(_ folder: NodeID) -> Bool {
        table.withLock { $0.folders[folder]?.isComplete ?? true }
    }

    /// Returns the number of the folder's current complete period, or nil if it is incomplete. Each eviction begins a
    /// new period.
    public func periodOfCompleteness(_ folder: NodeID) -> UInt64? {
        table.withLock { table in
            guard let folder = table.folders[folder] else { return 0 }
            return folder.isComplete ? folder.period : nil
        }
    }

    /// Returns the last change of the folder's names.
    public func modified(folder: NodeID) -> Timestamp {
        table.withLock { $0.folders[folder]?.modified } ?? clock.now()
    }

    /// Returns the number of subfolders, for the link count.
    public func folderCount(of folder: NodeID) -> Int {
        switch folder {
        case .root: table.withLock { $0.chats.count } + 1
        case .control: 2
        default: 0
        }
    }

    /// The shown drafts, in order of number.
    public var drafts: [Node] {
        table.withLock { table in table.drafts.values.compactMap { table.nodes[$0] } }
            .sorted { $0.id < $1.id }
    }

    /// The folders of chats, in order of number.
    public var chats: [Node] {
        table.withLock { table in table.chats.values.compactMap { table.nodes[$0] } }
            .sorted { $0.id < $1.id }
    }

    /// Returns the path below the mountpoint; empty for the root.
    public func path(of node: Node) -> String {
        if node.id == .root { return "" }
        var path = node.name.description
        var folder = node.folder
        while folder != .root, let parent = self.node(folder) {
            path = "\(parent.name)/\(path)"
            folder = parent.folder
        }
        return path
    }

    // MARK: - Items outside memory

    /// Size in bytes of the texts of items in memory: captions, senders, file names.
    public var textBytes: Int { table.withLock { $0.textBytes } }
    /// Number of items in memory.
    public var itemCount: Int { table.withLock { $0.items.count } }
    public func itemCount(of folder: NodeID) -> Int {
        table.withLock { table in
            (table.folders[folder]?.order.count ?? 0)
                - table.drafts.values.count { table.nodes[$0]?.folder == folder }
        }
    }

    /// Returns true if the folder contains a draft.
    public func hasDrafts(_ folder: NodeID) -> Bool {
        table.withLock { table in table.drafts.values.contains { table.nodes[$0]?.folder == folder } }
    }

    /// Returns the chat whose folder contains the node, in memory or not. Blocks.
    /// - Throws: `.damaged`, `.storage`.
    public func chat(holding id: NodeID) throws(NamespaceError) -> ChatReference? {
        let folder = try read { try $0.record(id)?.folder }
        guard let folder, case .chat(let chat) = node(folder)?.content else { return nil }
        return chat.reference
    }

    /// Returns the inode number of an item that was ever shown. Blocks.
    /// - Throws: `.damaged`, `.storage`.
    public func id(of item: ItemID) throws(NamespaceError) -> NodeID? {
        if let node = node(of: item) { return node.id }
        return try read { try $0.record(of: .item(item))?.id }
    }

    /// Returns the name of an item that was ever shown. Blocks.
    /// - Throws: `.damaged`, `.storage`.
    public func name(of item: ItemID) throws(NamespaceError) -> EntryName? {
        if let node = node(of: item) { return node.name }
        return try read { try $0.record(of: .item(item))?.name }
    }

    /// Evicts the items of a chat, which stay in the index. The folder is incomplete until `complete`, as when the
    /// mount began. Blocks.
    public func letGo(_ folder: NodeID) {
        changing.withLock {
            // The nodes are unreachable from here on, so they can be removed in steps.
            guard let before = table.withLock({ $0.empty(folder) }) else { return }
            for start in stride(from: 0, to: before.order.count, by: PendingChange.atOnce) {
                let part = before.order[start..<min(start + PendingChange.atOnce, before.order.count)]
                table.withLock { $0.letGo(of: part) }
            }
        }
    }

    // MARK: - Observers

    /// Sets the observer of all changes. Called once, before the first change.
    public func watch(with observer: NameObserver) { dependents.withLock { $0.observer = observer } }

    // MARK: - Reservations

    /// Sets the reservation of names. Called once, before the first change.
    public func leave(_ reservation: NameReservation) {
        dependents.withLock { $0.reservation = reservation }
    }

    /// Runs `body` while no name changes. A name that `body` finds free and takes is covered by the reservation
    /// afterwards. `body` must not change names here. Waits for a running change.
    public func whileUnchanged<Value, Failure: Error>(
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try changing.withLock(body)
    }

    func read<Result>(_ body: (NameIndex) throws -> Result) throws(NamespaceError) -> Result {
        do {
            return try database.read { try body(NameIndex($0)) }
        } catch {
            throw NamespaceError(wrapping: error)
        }
    }

    // MARK: - Changes

    /// Runs a change: in a transaction of the index and, after the commit, in memory.
    /// - Parameter frees: True for a removal, which a full disk does not refuse.
    func change<Result>(
        isDurable: Bool = false, frees: Bool = false,
        _ body: (NameIndex, inout PendingChange) throws -> Result
    ) throws(NamespaceError) -> Result {
        do {
            return try changing.withLock {
                var pending = PendingChange(shown: table)
                var gone = RemovedPaths()
                let dependents = dependents.withLock { $0 }
                let write = { (connection: Connection) in
                    // Runs a second time on a full disk.
                    (pending, gone) = (PendingChange(shown: self.table), RemovedPaths())
                    return try body(NameIndex(connection, gone, dependents.reservation), &pending)
                }
                let result =
                    try frees
                    ? database.freeingTransaction(durably: isDurable, write)
                    : isDurable ? database.durableTransaction(write) : database.transaction(write)
                if frees { database.reserveSpace() }
                pending.carryOut()
                dependents.observer?.tell(
                    gone: gone.paths, new: pending.newNodes, changed: pending.changedNodes)
                return result
            }
        } catch {
            throw NamespaceError(wrapping: error)
        }
    }
}
