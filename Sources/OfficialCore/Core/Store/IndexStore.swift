import ChatCore
import Cryptography
import Store

/// The index of a profile's files, and how its changes are told. All of its SQL is in the tables of this folder. All
/// calls block.
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
    ///   - key: with which it is encrypted; nil: not.
    ///   - owner: the user's own profile, the sender of sent items.
    ///   - filesFolder: where the core keeps files. Absolute.
    ///   - history: told when a walk through a history was begun.
    ///   - recent: told what is removed, which no answer that was asked for before brings back.
    ///   - isRemote: the core's files lie on another machine: no place of them is noted.
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
                // The folder of a phone gets another name with the phone.
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

    /// Changes what nobody is told of.
    @discardableResult
    func write<Result>(_ body: (IndexTables) throws -> Result) throws -> Result {
        try database.transaction { try body(IndexTables($0)) }
    }

    /// Changes the index, then tells.
    /// - Parameter durably: safe against a power cut when it returns; for what the core could not be asked again.
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

    /// What was deleted is gone from the journal too.
    func emptyJournal() throws(StoreError) { try database.checkpoint() }
}
