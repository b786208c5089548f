import Base
import ChatCore
import Store

/// Which names exist and which node is which item.
///
/// Names and inode numbers are kept in an index database, so they stay across mounts; everything
/// that is shown is in memory. Lookups and listings take one lock for a few instructions and never
/// wait for the disk. Changes block (SQLite): call them from a thread that may. They are written to
/// the index first, then shown.
public final class Namespace: Sendable {
    private let database: Database
    let clock: any WallClock
    private let table: Lock<NodeTable>
    /// One change after the other, disk included: what a change decides on (`PendingChange` looks at what is shown)
    /// is still shown when it is carried out, and memory changes in the order of the index. It guards no memory, and
    /// nobody who answers the kernel from memory takes it: only changes do, on threads that may block anyway, since
    /// each waits for the same database. Taken before `table`.
    private let changing = BlockingMutex()

    /// - Parameter path: the index database of one profile.
    public init(path: String, clock: any WallClock = SystemWallClock()) throws(NamespaceError) {
        self.clock = clock
        table = Lock(NodeTable(now: clock.now()))
        do {
            // A name that a power cut takes back is given again the same way; what cannot be made again
            // is written durably.
            database = try Database(path: path, migrations: NameIndex.migrations, durability: .eventual)
        } catch {
            throw NamespaceError(wrapping: error)
        }
    }

    /// Ends the use of the index; what is in memory can still be looked at. Blocks.
    public func close() { database.close() }

    // MARK: - Looking

    public func node(_ id: NodeID) -> Node? { table.withLock { $0.nodes[id] } }

    public func child(_ name: EntryName, of folder: NodeID) -> Node? {
        table.withLock { table in
            table.folders[folder]?.children[name].flatMap { table.nodes[$0] }
        }
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

    /// Up to `count` nodes of a folder with numbers above `last`, in the order of their numbers.
    public func children(of folder: NodeID, after last: NodeID?, count: Int) -> [Node] {
        table.withLock { table in
            guard let folder = table.folders[folder] else { return [] }
            let start = last.map { folder.position(after: $0) } ?? 0
            return folder.order[start..<min(start + count, folder.order.count)].compactMap {
                table.nodes[$0]
            }
        }
    }

    /// Whether everything that a folder holds is shown: a chat's from `complete` on, others always.
    public func isComplete(_ folder: NodeID) -> Bool {
        table.withLock { $0.folders[folder]?.isComplete ?? true }
    }

    /// When a folder's names last changed.
    public func modified(folder: NodeID) -> Timestamp {
        table.withLock { $0.folders[folder]?.modified } ?? clock.now()
    }

    /// How many folders a folder holds, for its link count.
    public func folderCount(of folder: NodeID) -> Int {
        switch folder {
        case .root: table.withLock { $0.chats.count } + 1
        case .control: 1
        default: 0
        }
    }

    /// Every shown node for which `isWanted` says so; walks all of them.
    public func nodes(where isWanted: (Node) -> Bool) -> [Node] {
        table.withLock { Array($0.nodes.values) }.filter(isWanted).sorted { $0.id < $1.id }
    }

    // MARK: - Changing

    /// Runs one change: in the index, in a transaction, and, once that is committed, in memory.
    func change<Result>(
        isDurable: Bool = false, _ body: (NameIndex, inout PendingChange) throws -> Result
    ) throws(NamespaceError) -> Result {
        do {
            return try changing.withLock {
                var pending = PendingChange(shown: table)
                let write = { (connection: Connection) in try body(NameIndex(connection), &pending) }
                let result =
                    try isDurable ? database.durableTransaction(write) : database.transaction(write)
                pending.carryOut()
                return result
            }
        } catch {
            throw NamespaceError(wrapping: error)
        }
    }
}
