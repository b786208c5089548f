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
    private let clock: any WallClock
    private let table: Lock<NodeTable>
    /// Held over a whole change, disk included, so that index and memory change in the same order.
    /// Only changes take it; whoever reads never waits for it. Taken before `table`.
    private let changing = Lock(())

    /// - Parameter path: the index database of one profile.
    public init(path: String, clock: any WallClock = SystemWallClock()) throws(NamespaceError) {
        self.clock = clock
        var table = NodeTable(now: clock.now())
        do {
            // A name that a power cut takes back is given again the same way; what cannot be made again
            // is written durably.
            database = try Database(path: path, migrations: NameIndex.migrations, durability: .eventual)
            let now = clock.now()
            for record in try database.read({ try NameIndex($0).records() }) {
                table.reserve(record.name, for: record.id, in: record.folder, at: now)
            }
        } catch {
            throw NamespaceError(wrapping: error)
        }
        self.table = Lock(table)
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

    // MARK: - Chats and items

    /// Shows chats, or what changed about them. A folder keeps its name for ever.
    public func show(_ chats: [Chat]) throws(NamespaceError) -> [NamespaceChange] {
        try change { index, shown in
            try chats.compactMap { chat in
                if let node = shown.node(.chat(chat.reference)) {
                    let updated = node.with(content: .chat(chat))
                    shown.replace(updated)
                    return .changed(updated)
                }
                let record =
                    try index.record(of: .chat(chat.reference))
                    ?? Self.add(.chat(chat.reference), EntryName(of: chat), in: .root, index) { name in
                        if case .notes = chat.reference { return name == Self.linksName }
                        return Self.reservedNames.contains(name)
                    }
                let node = Node(id: record.id, folder: .root, name: record.name, content: .chat(chat))
                shown.add(node, at: chat.updatedAt)
                return .appeared(node)
            }
        }
    }

    /// Shows items, or what changed about them; those without a file or of an unknown chat are left
    /// out. `time` is when their folders changed; nil for the items' own times (at the start).
    public func show(
        _ items: [ChatItem], at time: Timestamp? = nil
    ) throws(NamespaceError) -> [NamespaceChange] {
        try change { index, shown in
            try items.compactMap { item in
                guard let folder = shown.node(.chat(item.chat)), item.file != nil else { return nil }
                let item = item.withoutPreview
                if let node = shown.node(.item(item.id)) {
                    if case .item(let old) = node.content, old == item { return nil }
                    let updated = node.with(content: .item(item))
                    shown.replace(updated)
                    return .changed(updated)
                }
                let record =
                    try index.record(of: .item(item.id))
                    ?? Self.add(.item(item.id), EntryName(of: item), in: folder.id, index)
                let node = Node(
                    id: record.id, folder: folder.id, name: record.name, content: .item(item),
                    modified: record.modified)
                shown.add(node, at: time ?? item.time)
                return .appeared(node)
            }
        }
    }

    /// Takes deleted items away. Their names stay out of use.
    public func remove(_ items: [ItemID]) throws(NamespaceError) -> [NamespaceChange] {
        let now = clock.now()
        return try change { index, shown in
            try items.compactMap { item in
                guard let node = shown.node(.item(item)) else { return nil }
                try index.bury(node.name, in: node.folder)
                try index.remove(node.id)
                shown.remove(node, at: now)
                return .vanished(node)
            }
        }
    }

    /// After everything the core and the outbox have was shown: what the index knows beyond that was
    /// deleted while nothing was mounted.
    public func removeUnseen() throws(NamespaceError) {
        try change { index, shown in
            for record in try index.records() where shown.node(record.owner) == nil {
                switch record.owner {
                case .chat: continue
                case .item: try index.bury(record.name, in: record.folder)
                case .draft: break
                }
                try index.remove(record.id)
                shown.release(record)
            }
        }
    }

    // MARK: - Drafts

    /// Shows a draft under exactly this name. A name that a deleted item had may be used: its writer
    /// chose it.
    public func show(
        draft: DraftID, named name: EntryName, in folder: NodeID
    ) throws(NamespaceError) -> Node {
        let now = clock.now()
        return try change { index, shown in
            guard shown.hasFolder(folder) else {
                throw NamespaceError(.noSuchNode, "The folder is not there any more.")
            }
            if let node = shown.node(.draft(draft)) { return node }
            let record: NameIndex.Record
            if let known = try index.record(of: .draft(draft)), known.folder == folder {
                record = known
            } else {
                if let known = try index.record(of: .draft(draft)) {
                    try index.remove(known.id)
                    shown.release(known)
                }
                guard !shown.isTaken(name, in: folder) else {
                    throw NamespaceError(.nameTaken, "The name is in use in this folder.")
                }
                let id = try index.insert(.draft(draft), name: name, in: folder)
                record = .init(id: id, folder: folder, name: name, owner: .draft(draft))
            }
            let node = Node(id: record.id, folder: folder, name: record.name, content: .draft(draft))
            shown.add(node, at: now)
            return node
        }
    }

    /// Shows a draft that an earlier mount left unfinished in `.chatfs/recovered`.
    @discardableResult
    public func show(recovered draft: DraftID, named name: EntryName) throws(NamespaceError) -> Node {
        let free = try change { index, _ in
            try index.record(of: .draft(draft)).flatMap { $0.folder == .recovered ? $0.name : nil }
                ?? index.freeName(name, in: .recovered)
        }
        return try show(draft: draft, named: free, in: .recovered)
    }

    /// Moves a draft to another name of its folder. `replaced` is what has that name and goes.
    public func rename(
        draft: DraftID, to name: EntryName, replacing replaced: Node? = nil
    ) throws(NamespaceError) {
        let now = clock.now()
        try change { index, shown in
            guard let node = shown.node(.draft(draft)) else {
                throw NamespaceError(.noSuchNode, "The draft is not there any more.")
            }
            if let replaced, case .draft(let gone) = replaced.content, let other = shown.node(.draft(gone)) {
                try index.remove(other.id)
                shown.remove(other, at: now)
            } else if shown.isTaken(name, in: node.folder) {
                throw NamespaceError(.nameTaken, "The name is in use in this folder.")
            }
            try index.rename(node.id, to: name)
            shown.rename(node, to: name, at: now)
        }
    }

    /// Takes a dropped draft away; its name is free again, nobody else has seen it.
    public func remove(draft: DraftID) throws(NamespaceError) -> NamespaceChange? {
        let now = clock.now()
        return try change { index, shown in
            guard let node = shown.node(.draft(draft)) else { return nil }
            try index.remove(node.id)
            shown.remove(node, at: now)
            return .vanished(node)
        }
    }

    /// A draft was handed to the core: its node, name and time are the item's from now on. A node
    /// that the item was shown under before anyone knew is taken away.
    public func draft(
        _ draft: DraftID, became item: ChatItem, modified: Timestamp
    ) throws(NamespaceError) -> [NamespaceChange] {
        let now = clock.now()
        // The outbox forgets the name once this returns.
        return try change(isDurable: true) { index, shown in
            guard let node = shown.node(.draft(draft)) else { return [] }
            var changes: [NamespaceChange] = []
            if let other = shown.node(.item(item.id)) {
                try index.remove(other.id)
                shown.remove(other, at: now)
                changes.append(.vanished(other))
            } else if let record = try index.record(of: .item(item.id)) {
                try index.remove(record.id)
                shown.release(record)
            }
            try index.hand(node.id, to: item.id, modified: modified)
            let updated = node.with(content: .item(item.withoutPreview), modified: modified)
            shown.forget(draft)
            shown.replace(updated)
            changes.append(.changed(updated))
            return changes
        }
    }

    /// Keeps the time that its writer gave to a sent file.
    public func setModified(_ time: Timestamp, of id: NodeID) throws(NamespaceError) {
        try change { index, shown in
            guard let node = shown.node(id) else { return }
            try index.setModified(time, of: id)
            shown.replace(node.with(modified: time))
        }
    }

    // MARK: - One change

    static let linksName = EntryName("Links")
    /// Names of the root that no contact gets.
    static let reservedNames: Set = [EntryName(".chatfs"), EntryName("Saved notes"), linksName]

    private static func add(
        _ owner: NameIndex.Owner, _ wanted: EntryName, in folder: NodeID, _ index: NameIndex,
        isReserved: (EntryName) -> Bool = { _ in false }
    ) throws -> NameIndex.Record {
        let name = try index.freeName(wanted, in: folder, isReserved: isReserved)
        let id = try index.insert(owner, name: name, in: folder)
        return NameIndex.Record(id: id, folder: folder, name: name, owner: owner)
    }

    /// Runs one change: in the index, in a transaction, and, once that is committed, in memory.
    private func change<Result>(
        isDurable: Bool = false, _ body: (NameIndex, inout PendingChange) throws -> Result
    ) throws(NamespaceError) -> Result {
        do {
            return try changing.withLock { _ in
                var pending = PendingChange(shown: table)
                let write = { (connection: Connection) in try body(NameIndex(connection), &pending) }
                let result =
                    try isDurable ? database.durableTransaction(write) : database.transaction(write)
                for step in pending.steps { table.withLock(step) }
                return result
            }
        } catch {
            throw NamespaceError(wrapping: error)
        }
    }
}
