import Base
import ChatCore
import Cryptography
import Store

/// Which names exist and which node is which item.
///
/// Names and inode numbers are kept in an index database, so they stay across mounts; everything
/// that is shown is in memory. Lookups and listings take one lock for a few instructions and never
/// wait for the disk. Changes block (SQLite): call them from a thread that may. They are written to
/// the index first, then shown.
///
/// Large, because every change is the same three steps in one order (decide, commit, show): what is in memory is in
/// `NodeTable`, what is stored in `NameIndex`, what a change has decided in `PendingChange`. The extensions, for items,
/// drafts and mountpoints, add changes and no state.
public final class Namespace: Sendable {
    private let database: Database
    let clock: any WallClock
    private let table: Lock<NodeTable>
    /// One change after the other, disk included: what a change decides on (`PendingChange` looks at what is shown)
    /// is still shown when it is carried out, and memory changes in the order of the index. It guards no memory, and
    /// nobody who answers the kernel from memory takes it: only changes do, on threads that may block anyway, since
    /// each waits for this database, or that of the outbox where a folder that is copied in changes. Taken before
    /// `table`.
    private let changing = BlockingMutex(rank: .tree)

    private let observer = Lock<NameObserver?>(nil)
    private let reservation = Lock<NameReservation?>(nil)

    /// - Parameters:
    ///   - path: the index database of one profile.
    ///   - key: with which it is encrypted; nil: not.
    /// - Throws: `.diskFull`; `.storage`, also for another key and the index of a newer version.
    public init(
        path: String, key: SecretBytes? = nil, clock: any WallClock = SystemWallClock()
    ) throws(NamespaceError) {
        self.clock = clock
        table = Lock(NodeTable(now: clock.now()))
        do {
            // A name that a power cut takes back is given again the same way; what cannot be made again
            // is written durably.
            database = try Database(
                path: path, migrations: NameIndex.migrations, key: key, durability: .eventual,
                reservesSpace: true)
        } catch {
            throw NamespaceError(wrapping: error)
        }
    }

    /// Ends the use of the index; what is in memory can still be looked at. Blocks.
    public func close() { database.close() }

    // MARK: - Looking

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

    /// As `children`; nil when not all that the folder holds is in memory.
    public func list(_ folder: NodeID, after last: NodeID?, count: Int) -> [Node]? {
        table.withLock { table in
            table.folders[folder]?.isComplete == false
                ? nil : table.children(of: folder, after: last, count: count)
        }
    }

    /// Up to `count` nodes of a folder with numbers above `last`, in the order of their numbers.
    public func children(of folder: NodeID, after last: NodeID?, count: Int) -> [Node] {
        table.withLock { $0.children(of: folder, after: last, count: count) }
    }

    /// Whether everything that a folder holds is shown: a chat's from `complete` on, others always.
    public func isComplete(_ folder: NodeID) -> Bool {
        table.withLock { $0.folders[folder]?.isComplete ?? true }
    }

    /// Tells one time that a folder was complete from another, between which its items were let go; nil while it is
    /// not complete.
    public func periodOfCompleteness(_ folder: NodeID) -> UInt64? {
        table.withLock { table in
            guard let folder = table.folders[folder] else { return 0 }
            return folder.isComplete ? folder.period : nil
        }
    }

    /// When a folder's names last changed.
    public func modified(folder: NodeID) -> Timestamp {
        table.withLock { $0.folders[folder]?.modified } ?? clock.now()
    }

    /// How many folders a folder holds, for its link count.
    public func folderCount(of folder: NodeID) -> Int {
        switch folder {
        case .root: table.withLock { $0.chats.count } + 1
        case .control: 2
        default: 0
        }
    }

    /// Every shown node for which `isWanted` says so; walks all of them.
    public func nodes(where isWanted: (Node) -> Bool) -> [Node] {
        table.withLock { Array($0.nodes.values) }.filter(isWanted).sorted { $0.id < $1.id }
    }

    /// Path below the mountpoint; empty for the root.
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

    // MARK: - Items that are not in memory

    /// Bytes of the texts of items in memory: captions, senders, names of files.
    public var textBytes: Int { table.withLock { $0.textBytes } }
    /// How many items are in memory, and those of one folder.
    public var itemCount: Int { table.withLock { $0.items.count } }
    public func itemCount(of folder: NodeID) -> Int {
        table.withLock { table in
            (table.folders[folder]?.order.count ?? 0)
                - table.drafts.values.count { table.nodes[$0]?.folder == folder }
        }
    }

    /// Whether a draft lies in a folder.
    public func hasDrafts(_ folder: NodeID) -> Bool {
        table.withLock { table in table.drafts.values.contains { table.nodes[$0]?.folder == folder } }
    }

    /// The chat in whose folder something with this number is, in memory or not. Blocks.
    /// - Throws: `.damaged`, `.storage`.
    public func chat(holding id: NodeID) throws(NamespaceError) -> ChatReference? {
        let folder = try read { try $0.record(id)?.folder }
        guard let folder, case .chat(let chat) = node(folder)?.content else { return nil }
        return chat.reference
    }

    /// The number of an item that was shown once, in memory or not. Blocks.
    /// - Throws: `.damaged`, `.storage`.
    public func id(of item: ItemID) throws(NamespaceError) -> NodeID? {
        if let node = node(of: item) { return node.id }
        return try read { try $0.record(of: .item(item))?.id }
    }

    /// The name of an item that was shown once, in memory or not. Blocks.
    /// - Throws: `.damaged`, `.storage`.
    public func name(of item: ItemID) throws(NamespaceError) -> EntryName? {
        if let node = node(of: item) { return node.name }
        return try read { try $0.record(of: .item(item))?.name }
    }

    /// Lets go of the items of a chat, which stay in the index: the folder is as it was when the mount began, until
    /// `complete`. Blocks.
    public func letGo(_ folder: NodeID) {
        changing.withLock {
            // Nothing of it is found from here on, so its nodes can go in steps.
            guard let before = table.withLock({ $0.empty(folder) }) else { return }
            for start in stride(from: 0, to: before.order.count, by: PendingChange.atOnce) {
                let part = before.order[start..<min(start + PendingChange.atOnce, before.order.count)]
                table.withLock { $0.letGo(of: part) }
            }
        }
    }

    // MARK: - Watching

    /// Has `observer` told of every change, in the order of the changes. To be called once, before the first.
    public func watch(with observer: NameObserver) { self.observer.withLock { $0 = observer } }

    // MARK: - Names of others

    /// Has nothing get a name that `reservation` holds. To be called once, before the first change.
    public func leave(_ reservation: NameReservation) { self.reservation.withLock { $0 = reservation } }

    /// Runs `body` while no name is given or taken away: what it takes for itself was free, and is from then on what
    /// the reservation says. It changes no names here. Blocks on changes that are under way.
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

    // MARK: - Changing

    /// Runs one change: in the index, in a transaction, and, once that is committed, in memory.
    /// - Parameter frees: what is removed takes less room: a full disk does not refuse it.
    func change<Result>(
        isDurable: Bool = false, frees: Bool = false,
        _ body: (NameIndex, inout PendingChange) throws -> Result
    ) throws(NamespaceError) -> Result {
        do {
            return try changing.withLock {
                var pending = PendingChange(shown: table)
                var gone = GonePaths()
                let reservation = reservation.withLock { $0 }
                let write = { (connection: Connection) in
                    // A second time on a full disk.
                    (pending, gone) = (PendingChange(shown: self.table), GonePaths())
                    return try body(NameIndex(connection, gone, reservation), &pending)
                }
                let result =
                    try frees
                    ? database.freeingTransaction(durably: isDurable, write)
                    : isDurable ? database.durableTransaction(write) : database.transaction(write)
                if frees { database.reserveSpace() }
                pending.carryOut()
                observer.withLock { $0 }?.tell(
                    gone: gone.paths, new: pending.newNodes, changed: pending.changedNodes)
                return result
            }
        } catch {
            throw NamespaceError(wrapping: error)
        }
    }
}
