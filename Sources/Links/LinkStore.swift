import Base
import ChatCore
import CoreServices
import Cryptography
import Glibc
import Posix
import Store

let log = Log("links")
/// The pool for blocking work: a small database, and the files of links.
let blocking = BlockingWork(ThreadPool.shared, log)

/// The folder of links of one profile. A profile without links has no database, and none is opened. All calls block.
final class LinkStore: Sendable {
    private struct State {
        var database: Database?
        var progress: [Int64: (done: UInt64, total: UInt64)] = [:]
    }

    let folder: LinkFolder
    let events = EventHub()
    let clock: any WallClock
    private let path: String
    private let key: SecretBytes?
    private let owner: String
    /// Serialises opening.
    private let opening = BlockingMutex(rank: .linkStore)
    private let state = Lock(State())

    /// - Parameters:
    ///   - path: The path of the database.
    ///   - key: Its key, or nil for a plain database.
    ///   - owner: The display name of the profile.
    init(
        path: String, key: SecretBytes?, folder: LinkFolder, owner: String, clock: any WallClock
    ) {
        self.path = path
        self.key = key
        self.folder = folder
        self.owner = owner
        self.clock = clock
    }

    /// Whether there are links.
    var isUsed: Bool {
        get throws(SystemError) {
            if access(path, F_OK) == 0 { return true }
            guard errno == ENOENT else { throw SystemError(code: errno, operation: "look for links") }
            return false
        }
    }

    /// Approximate time of the last change, or of the profile's folder without links. At most two system calls.
    var changed: Timestamp {
        var status = stat()
        guard stat(path, &status) == 0 || stat(path.parentPath, &status) == 0 else { return clock.now() }
        return Timestamp(seconds: Int64(status.st_mtim.tv_sec))
    }

    func close() {
        events.close()
        state.withLock { $0.database }?.close()
    }

    /// Opens the database, and creates it if missing. Call before keeping a file that no row names yet, because opening
    /// removes such files.
    func open() throws { _ = try database() }

    private func database() throws -> Database {
        if let database = state.withLock({ $0.database }) { return database }
        return try opening.withLock {
            if let database = state.withLock({ $0.database }) { return database }
            let database = try Database(path: path, migrations: LinkTable.migrations, key: key)
            try sweep(database)
            state.withLock { $0.database = database }
            return database
        }
    }

    private func sweep(_ database: Database) throws {
        let names = try database.read { try LinkTable($0).storedNames() }
        // After a power cut, a row of a killed process could reappear.
        try database.commitOverUnfinished()
        try folder.sweep(keeping: names)
    }

    /// Reads one snapshot, or returns `nothing` without a database.
    func read<Result>(or nothing: Result, _ body: (LinkTable) throws -> Result) throws -> Result {
        guard try isUsed else { return nothing }
        return try database().read { try body(LinkTable($0)) }
    }

    /// A change in a transaction.
    final class Change {
        let table: LinkTable
        fileprivate(set) var events: [ChatEvent] = []
        fileprivate var abandoned: [String] = []
        private let item: (LinkRow) -> ChatItem

        fileprivate init(_ table: LinkTable, item: @escaping (LinkRow) -> ChatItem) {
            self.table = table
            self.item = item
        }

        /// Events for this process, after the commit.
        func tell(_ event: ChatEvent) { events.append(event) }
        func tell(_ cause: ItemChange, of id: Int64) throws {
            if let row = try table.row(id) { tell(.itemChanged(item(row), cause)) }
        }
        /// A new row.
        func tellNew(_ id: Int64) throws {
            if let row = try table.row(id) { tell(.newChatItems([item(row)])) }
        }
        /// Notes a file that no row names any more.
        func abandon(_ storedName: String?) { if let storedName { abandoned.append(storedName) } }
    }

    @discardableResult
    func commit<Result>(_ body: (Change) throws -> Result) throws -> Result {
        let database = try database()
        return try events.publish { reserve in
            var change: Change?
            let result = try database.transaction { connection in
                reserve()
                let begun = Change(LinkTable(connection)) { [self] in item($0) }
                change = begun
                return try body(begun)
            }
            for name in change?.abandoned ?? [] { folder.remove(name) }
            return (result, change?.events ?? [])
        }
    }

    /// Returns the item as mounts show it.
    func item(_ row: LinkRow) -> ChatItem {
        row.item(of: owner, folder: folder.path, progress: state.withLock { $0.progress[row.id] })
    }

    /// Sets the progress of a running upload, or nil at its end. Returns true for the first one.
    @discardableResult
    func setProgress(_ id: Int64, _ value: (done: UInt64, total: UInt64)?) -> Bool {
        state.withLock { state in
            defer { state.progress[id] = value }
            return state.progress[id] == nil
        }
    }

    /// Returns the file of a row.
    func location(of row: LinkRow) -> FileSourceLocation? {
        row.storedName.map { FileSourceLocation(path: folder.path + "/" + $0, arguments: row.arguments) }
    }
}
