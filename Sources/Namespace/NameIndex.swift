import Base
import ChatCore
import Cryptography
import Store

/// The persistent part of the namespace: name and inode number of each chat, item and draft. Names of deleted entries
/// are kept as salted digests only, so that they are neither reused nor readable.
struct NameIndex {
    /// The owner of a name. Ids of the core and the outbox are never reused.
    enum Owner: Hashable {
        case chat(ChatReference)
        case item(ItemID)
        case draft(DraftID)
    }

    struct Record {
        var id: NodeID
        var folder: NodeID
        var name: EntryName
        var owner: Owner
        var modified: Timestamp?
        /// True if metadata was removed from the written file before it was sent.
        var isCleaned = false
    }

    static let migrations = [
        Migration(
            "names 0.1",
            """
            CREATE TABLE node (
                inode INTEGER PRIMARY KEY AUTOINCREMENT,
                folder INTEGER NOT NULL,
                name BLOB NOT NULL,
                chat TEXT UNIQUE,
                item INTEGER UNIQUE,
                draft INTEGER UNIQUE,
                modified INTEGER,
                cleaned INTEGER NOT NULL DEFAULT 0,
                sha256 BLOB,
                UNIQUE (folder, name),
                CHECK ((chat IS NOT NULL) + (item IS NOT NULL) + (draft IS NOT NULL) = 1)
            ) STRICT;
            INSERT INTO sqlite_sequence (name, seq) VALUES ('node', 1023);
            CREATE TABLE buried_name (
                folder INTEGER NOT NULL,
                digest BLOB NOT NULL,
                PRIMARY KEY (folder, digest)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE salt (bytes BLOB NOT NULL) STRICT;
            INSERT INTO salt (bytes) VALUES (randomblob(32));
            CREATE TABLE mountpoint (
                path TEXT PRIMARY KEY,
                since INTEGER NOT NULL,
                is_swept INTEGER NOT NULL
            ) STRICT, WITHOUT ROWID;
            """, replaces: DevelopmentSchema(steps: 4, last: "digests"))
    ]

    private let connection: Connection
    private let gone: RemovedPaths
    private let reservation: NameReservation?

    /// - Parameters:
    ///   - gone: Collects removed paths.
    ///   - reservation: Names that must not be assigned.
    init(
        _ connection: Connection, _ gone: RemovedPaths = RemovedPaths(), _ reservation: NameReservation? = nil
    ) {
        self.connection = connection
        self.gone = gone
        self.reservation = reservation
    }

    /// Returns every chat that ever had a folder.
    func chats() throws -> [Record] {
        try connection.query(
            "SELECT inode, folder, name, modified, cleaned, chat FROM node WHERE folder = ? AND chat IS NOT NULL",
            NodeID.root.rawValue
        ) { row in
            guard let chat = ChatReference(row.text("chat")) else { throw NamespaceError.damaged }
            return try Record(row, of: .chat(chat))
        }
    }

    func drafts() throws -> [Record] {
        // Not `IS NOT NULL`, for which SQLite would scan all names.
        try connection.query("SELECT inode, folder, name, modified, cleaned, draft FROM node WHERE draft > 0")
        { row in
            try Record(row, of: .draft(DraftID(row.integer("draft"))))
        }
    }

    func record(of owner: Owner) throws -> Record? {
        try connection.first(
            "SELECT inode, folder, name, modified, cleaned FROM node WHERE \(owner.column) IS ?", owner.value
        ) { row in
            try Record(row, of: owner)
        }
    }

    /// Returns the chat, item or draft with this number.
    func record(_ id: NodeID) throws -> Record? {
        try connection.first(
            "SELECT inode, folder, name, modified, cleaned, chat, item, draft FROM node WHERE inode = ?",
            id.rawValue
        ) { row in
            let owner: Owner? =
                if let item = row.integerOrNil("item") {
                    .item(ItemID(item))
                } else if let draft = row.integerOrNil("draft") {
                    .draft(DraftID(draft))
                } else {
                    row.textOrNil("chat").flatMap { ChatReference($0) }.map(Owner.chat)
                }
            guard let owner else { throw NamespaceError.damaged }
            return try Record(row, of: owner)
        }
    }

    /// Changes with every write to the index.
    var version: Int64 { connection.changedRowCount }

    /// Returns at most `limit` items of a folder.
    func items(in folder: NodeID, limit: Int = .max) throws -> [ItemID: Record] {
        var records: [ItemID: Record] = [:]
        _ = try connection.query(
            """
            SELECT inode, folder, name, modified, cleaned, item FROM node
            WHERE folder = ? AND item IS NOT NULL LIMIT ?
            """,
            folder.rawValue, Int64(limit)
        ) { row in
            let item = ItemID(row.integer("item"))
            records[item] = try Record(row, of: .item(item))
        }
        return records
    }

    /// Returns true if the name is in use, in the index or by the reservation.
    func isInUse(_ name: EntryName, in folder: NodeID) throws -> Bool {
        if let reservation, reservation.holds(name, folder) { return true }
        return try connection.exists(
            "SELECT 1 FROM node WHERE folder = ? AND name = ?", folder.rawValue, name.bytes)
    }

    /// Returns true if the name is in use, or was used by a deleted entry.
    func isTaken(_ name: EntryName, in folder: NodeID) throws -> Bool {
        if try isInUse(name, in: folder) { return true }
        return try connection.exists(
            "SELECT 1 FROM buried_name WHERE folder = ? AND digest = ?", folder.rawValue, digest(name))
    }

    /// Returns `wanted`, or the first numbered variant ` (2)`, ` (3)`, … that was never used in this folder.
    func freeName(
        _ wanted: EntryName, in folder: NodeID, isReserved: (EntryName) throws -> Bool = { _ in false }
    ) throws -> EntryName {
        func isFree(_ name: EntryName) throws -> Bool { try !isReserved(name) && !isTaken(name, in: folder) }
        if try isFree(wanted) { return wanted }
        // Exponential search, then bisection, so that ten thousand files of one name do not cost a query per earlier
        // file each.
        var (taken, free) = (1, 2)
        while try !isFree(wanted.numbered(free)) { (taken, free) = (free, free < 16 ? free + 1 : free * 2) }
        while free - taken > 1 {
            let middle = (taken + free) / 2
            if try isFree(wanted.numbered(middle)) { free = middle } else { taken = middle }
        }
        return wanted.numbered(free)
    }

    func insert(_ owner: Owner, name: EntryName, in folder: NodeID) throws -> NodeID {
        try connection.execute(
            "INSERT INTO node (folder, name, \(owner.column)) VALUES (?, ?, ?)", folder.rawValue,
            name.bytes, owner.value)
        return NodeID(UInt64(bitPattern: connection.lastInsertedID))
    }

    func rename(_ id: NodeID, to name: EntryName) throws {
        if let record = try record(id) {
            if case .chat = record.owner {
                try eachName(in: id) { gone.add($0, in: [record.name]) }
                // Users know the chat by this name, so no other chat gets it.
                try retire(record.name, in: record.folder)
            } else {
                try gone.add(record.name, in: folderPath(record.folder))
            }
        }
        try connection.execute("UPDATE node SET name = ? WHERE inode = ?", name.bytes, id.rawValue)
    }

    /// Transfers the node of a draft or an earlier item to this item.
    func hand(_ id: NodeID, to item: ItemID, modified: Timestamp?, isCleaned: Bool) throws {
        try connection.execute(
            "UPDATE node SET draft = NULL, item = ?, modified = ?, cleaned = ?, sha256 = NULL WHERE inode = ?",
            item.rawValue,
            modified, isCleaned, id.rawValue)
    }

    func setModified(_ time: Timestamp, of id: NodeID) throws {
        try connection.execute("UPDATE node SET modified = ? WHERE inode = ?", time, id.rawValue)
    }

    func digest(of id: NodeID) throws -> [UInt8]? {
        try connection.first("SELECT sha256 FROM node WHERE inode = ?", id.rawValue) {
            $0.bytesOrNil("sha256")
        }
            ?? nil
    }

    func set(digest: [UInt8], of id: NodeID) throws {
        try connection.execute("UPDATE node SET sha256 = ? WHERE inode = ?", digest, id.rawValue)
    }

    func remove(_ id: NodeID) throws {
        let removed = try connection.first(
            "DELETE FROM node WHERE inode = ? RETURNING folder, name", id.rawValue
        ) { row in
            (folder: NodeID(row.unsigned("folder")), name: EntryName(row.bytes("name")))
        }
        if let removed { try gone.add(removed.name, in: folderPath(removed.folder)) }
    }

    // MARK: - Paths

    /// Calls `body` with the path of every used name, relative to the mountpoint.
    func eachPath(_ body: (EntryPath) throws -> Void) throws {
        var folders: [NodeID: [EntryName]] = [.root: [], .recovered: Self.recovered]
        _ = try connection.query("SELECT folder, name FROM node") { row in
            let folder = NodeID(row.unsigned("folder"))
            let path = try folders[folder] ?? folderPath(folder)
            folders[folder] = path
            try body(EntryPath(path + [EntryName(row.bytes("name"))]))
        }
    }

    private func eachName(in folder: NodeID, _ body: (EntryName) throws -> Void) throws {
        _ = try connection.query("SELECT name FROM node WHERE folder = ?", folder.rawValue) { row in
            try body(EntryName(row.bytes("name")))
        }
    }

    private static let recovered = [EntryName(".chatfs"), EntryName("recovered")]

    private func folderPath(_ folder: NodeID) throws -> [EntryName] {
        switch folder {
        case .root: return []
        case .recovered: return Self.recovered
        default:
            let name = try connection.first("SELECT name FROM node WHERE inode = ?", folder.rawValue) { row in
                EntryName(row.bytes("name"))
            }
            return name.map { [$0] } ?? []
        }
    }

    // MARK: - Mountpoints

    /// Returns where this profile was mounted, latest first.
    func mountpoints() throws -> [RecordedMountpoint] {
        try connection.query("SELECT path, since, is_swept FROM mountpoint ORDER BY since DESC") { row in
            RecordedMountpoint(
                path: row.text("path"), since: row.integer("since"), isSwept: row.integer("is_swept") != 0)
        }
    }

    func note(_ mountpoint: RecordedMountpoint, keeping limit: Int) throws {
        try connection.execute(
            "INSERT OR REPLACE INTO mountpoint (path, since, is_swept) VALUES (?, ?, ?)", mountpoint.path,
            mountpoint.since, mountpoint.isSwept)
        try connection.execute(
            "DELETE FROM mountpoint WHERE path NOT IN (SELECT path FROM mountpoint ORDER BY since DESC LIMIT ?)",
            limit)
    }

    /// Reserves a name for ever.
    func retire(_ name: EntryName, in folder: NodeID) throws {
        try connection.execute(
            "INSERT OR IGNORE INTO buried_name (folder, digest) VALUES (?, ?)", folder.rawValue,
            digest(name))
    }

    private func digest(_ name: EntryName) throws -> [UInt8] {
        let salt = try connection.first("SELECT bytes FROM salt") { $0.bytes("bytes") } ?? []
        return SHA256.hash(salt + name.bytes)
    }
}

extension NameIndex.Record {
    /// Reads the columns `inode`, `folder`, `name`, `modified` and `cleaned`.
    /// - Throws: `.damaged` for a name that the kernel would reject, and with it the whole listing.
    init(_ row: borrowing Row, of owner: NameIndex.Owner) throws(NamespaceError) {
        id = NodeID(row.unsigned("inode"))
        folder = NodeID(row.unsigned("folder"))
        name = EntryName(row.bytes("name"))
        modified = row.timestampOrNil("modified")
        isCleaned = row.bool("cleaned")
        self.owner = owner
        guard id >= .firstStored, name.canBeShown else { throw .damaged }
    }
}

extension NameIndex.Owner {
    fileprivate var column: String {
        switch self {
        case .chat: "chat"
        case .item: "item"
        case .draft: "draft"
        }
    }

    fileprivate var value: any SQLBindable {
        switch self {
        case .chat(let chat): chat.description
        case .item(let item): item.rawValue
        case .draft(let draft): draft.rawValue
        }
    }
}
