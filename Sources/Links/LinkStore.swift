import Base
import ChatCore
import CoreServices
import Cryptography
import Glibc
import Posix
import Store

let log = Log("links")
/// What blocks here: a small database, and the files of links.
let blocking = BlockingWork(ThreadPool.shared, log)

/// What a profile has in its folder of links. Who never used it has no database of it, and nothing is opened. All calls
/// block.
final class LinkStore: Sendable {
    let folder: LinkFolder
    let events = EventHub()
    let clock: any WallClock
    private let path: String
    private let key: SecretBytes?
    private let owner: String
    /// One opening after the other.
    private let opening = BlockingMutex(rank: .linkStore)
    private let opened = Lock<Database?>(nil)
    private let progress = Lock<[Int64: (done: UInt64, total: UInt64)]>([:])

    /// - Parameters:
    ///   - path: of the database.
    ///   - key: with which it is encrypted; nil: not.
    ///   - owner: display name of who has the profile.
    init(
        path: String, key: SecretBytes?, folder: LinkFolder, owner: String, clock: any WallClock
    ) {
        self.path = path
        self.key = key
        self.folder = folder
        self.owner = owner
        self.clock = clock
    }

    /// Whether there is anything to look at.
    var isUsed: Bool {
        get throws(SystemError) {
            if access(path, F_OK) == 0 { return true }
            guard errno == ENOENT else { throw SystemError(code: errno, operation: "look for links") }
            return false
        }
    }

    /// Approximate time of the last change; if links were never used, that of the profile's folder. At most two system
    /// calls.
    var changed: Timestamp {
        var status = stat()
        guard stat(path, &status) == 0 || stat(path.parentPath, &status) == 0 else { return clock.now() }
        return Timestamp(seconds: Int64(status.st_mtim.tv_sec))
    }

    func close() {
        events.close()
        opened.withLock { $0 }?.close()
    }

    /// Opens the database, which is made where there is none. To be called before a file is kept that no row names yet:
    /// opening sweeps such files.
    func open() throws { _ = try database() }

    private func database() throws -> Database {
        if let database = opened.withLock({ $0 }) { return database }
        return try opening.withLock {
            if let database = opened.withLock({ $0 }) { return database }
            let database = try Database(path: path, migrations: LinkTable.migrations, key: key)
            try sweep(database)
            opened.withLock { $0 = database }
            return database
        }
    }

    private func sweep(_ database: Database) throws {
        let names = try database.read { try LinkTable($0).storedNames() }
        // A row that a killed process was committing could come back with a power cut.
        try database.commitOverUnfinished()
        try folder.sweep(keeping: names)
    }

    /// Reads from one snapshot; `nothing` while there is no database.
    func read<Result>(or nothing: Result, _ body: (LinkTable) throws -> Result) throws -> Result {
        guard try isUsed else { return nothing }
        return try database().read { try body(LinkTable($0)) }
    }

    /// A change under way.
    final class Change {
        let table: LinkTable
        fileprivate(set) var events: [ChatEvent] = []
        fileprivate var abandoned: [String] = []
        private let item: (LinkRow) -> ChatItem

        fileprivate init(_ table: LinkTable, item: @escaping (LinkRow) -> ChatItem) {
            self.table = table
            self.item = item
        }

        /// For the listeners of this process, after the commit.
        func tell(_ event: ChatEvent) { events.append(event) }
        /// The item as it is now.
        func tell(_ event: (ChatItem) -> ChatEvent, of id: Int64) throws {
            if let row = try table.row(id) { events.append(event(item(row))) }
        }
        /// No row names this file any more.
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

    /// As a mount shows it.
    func item(_ row: LinkRow) -> ChatItem {
        row.item(of: owner, folder: folder.path, progress: progress.withLock { $0[row.id] })
    }

    /// Of a running upload; nil when it has ended. True when it is the first of it.
    @discardableResult
    func setProgress(_ id: Int64, _ value: (done: UInt64, total: UInt64)?) -> Bool {
        progress.withLock { progress in
            defer { progress[id] = value }
            return progress[id] == nil
        }
    }

    /// The file of a row.
    func location(of row: LinkRow) -> FileSourceLocation? {
        row.storedName.map { FileSourceLocation(path: folder.path + "/" + $0, arguments: row.arguments) }
    }
}
