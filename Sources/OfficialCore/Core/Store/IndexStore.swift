import Base
import ChatCore
import Cryptography
import Store

/// The index of a profile's files, and the publication of its changes. All SQL is in the tables of this
/// folder. Calls block, except asynchronous ones.
final class IndexStore: Sendable {
    let events = EventHub()
    private let database: Database
    private let owner: Profile
    private let filesFolder: String
    private let staging: StagingFolder
    private let history: WorkSignal
    private let recent: RecentEvents
    private let isRemote: Bool

    /// - Parameters:
    ///   - key: Encryption key; nil if not encrypted.
    ///   - owner: The user's own profile, the sender of sent items.
    ///   - filesFolder: The core's folder for files. Absolute.
    ///   - history: Signalled when a walk through a history is added.
    ///   - recent: Records removed items, so that answers to earlier requests do not restore them.
    ///   - isRemote: True if the core's files are on another machine, so that their paths are not stored.
    /// - Throws: `StoreError`: `.wrongVersion`, `.damaged`, `.diskFull`, `.notAllowed`.
    init(
        path: String, key: SecretBytes?, owner: Profile, filesFolder: String, staging: StagingFolder,
        history: WorkSignal, recent: RecentEvents, isRemote: Bool = false
    ) throws(StoreError) {
        database = try Database(path: path, migrations: Schema.migrations, key: key, durability: .eventual)
        self.owner = owner
        self.filesFolder = filesFolder
        self.staging = staging
        self.history = history
        self.recent = recent
        self.isRemote = isRemote
        do {
            try database.durableTransaction { connection in
                let tables = IndexTables(connection)
                // Renaming a phone renames its folder.
                if isRemote, let known = try tables.place.known(), known != staging.path {
                    try tables.keptCopies.detach()
                }
                try tables.keptCopies.attach(to: staging.path)
                if try tables.place.known() != staging.path { try tables.place.note(staging.path) }
            }
        } catch {
            throw error as? StoreError ?? StoreError(.damaged, "The index could not be read.", cause: error)
        }
    }

    /// Reads from one snapshot.
    func read<Result>(_ body: (IndexTables) throws -> Result) throws -> Result {
        try database.read { try body(IndexTables($0)) }
    }

    /// Reads from one snapshot, on the threads for blocking work.
    /// - Throws: The mapped error of `body`.
    func reading<Result: Sendable>(
        _ body: @escaping @Sendable (IndexTables) throws -> Result
    ) async throws(ChatError) -> Result {
        try await blocking.run { [self] in try read(body) }
    }

    /// As `commit`, on the threads for blocking work.
    /// - Throws: The mapped error of `body`.
    @discardableResult
    func committing<Result: Sendable>(
        _ body: @escaping @Sendable (IndexChange) throws -> Result
    ) async throws(ChatError) -> Result {
        try await blocking.run { [self] in try commit(body) }
    }

    /// Changes the index without an event.
    @discardableResult
    func write<Result>(_ body: (IndexTables) throws -> Result) throws -> Result {
        try database.transaction { try body(IndexTables($0)) }
    }

    /// Changes the index, then publishes the events.
    /// - Parameter durably: If true, the change survives a power cut; for facts that the core cannot report
    ///   again.
    @discardableResult
    func commit<Result>(durably: Bool = false, _ body: (IndexChange) throws -> Result) throws -> Result {
        try events.publish { reserve in
            var change: IndexChange?
            let step = { [owner, filesFolder, recent, isRemote] (connection: Connection) -> Result in
                reserve()
                let begun = IndexChange(
                    IndexTables(connection), recent, owner: owner.displayName, filesFolder: filesFolder,
                    isRemote: isRemote)
                change = begun
                return try body(begun)
            }
            let result = try durably ? database.durableTransaction(step) : database.transaction(step)
            guard let change else { return (result, []) }
            for folder in change.abandonedFolders { staging.remove(folder) }
            for copy in change.abandonedCopies { removeFile(copy) }
            if change.beginsWalk { history.notify() }
            return (result, change.events)
        }
    }

    /// Removes deleted data from the database's log.
    func emptyJournal() throws(StoreError) { try database.checkpoint() }
}
