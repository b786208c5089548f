import Base
import Cryptography
import Posix
import Store

/// The database of a data directory, which the processes of all its profiles share. All of its SQL is in the tables
/// of this folder. All calls block.
final class DirectoryStore: Sendable {
    private let database: Database
    private let clock: StoredClock

    /// - Parameter key: with which it is encrypted; nil: not.
    /// - Throws: `StoreError`: as `Database`.
    init(
        path: String, key: SecretBytes? = nil, consent: MigrationConsent = .given,
        clock: any BootClock = SystemBootClock()
    ) throws(StoreError) {
        database = try Database(path: path, migrations: Schema.migrations, key: key, consent: consent)
        self.clock = try StoredClock(clock, in: database)
    }

    /// Reads from one snapshot.
    func read<Result>(_ body: (DirectoryTables) throws -> Result) throws -> Result {
        try database.read { try body(DirectoryTables($0, elapsed: clock.now())) }
    }

    /// Changes all that `body` changes, or, when it throws, nothing.
    @discardableResult
    func change<Result>(_ body: (DirectoryTables) throws -> Result) throws -> Result {
        try database.transaction { try body(DirectoryTables($0, elapsed: clock.keep(in: $0))) }
    }

    /// Lets the file go.
    func close() { database.close() }

    /// What was deleted is gone from the journal too, unless another process is reading now: then the next one
    /// empties it.
    func emptyJournal() throws(StoreError) { try database.checkpoint() }

    /// `Database.commitOverUnfinished`.
    func commitOverUnfinished() throws { try database.commitOverUnfinished() }

    /// Whether the calling thread is inside a transaction, where nothing slow may be done.
    var isInTransaction: Bool { database.isInTransaction }
}

/// The tables of all profiles, within one transaction.
struct DirectoryTables {
    private let connection: Connection
    /// By the clock of the database, which nobody sets: limits and what is remembered for a while go by it.
    let elapsed: ElapsedTime

    init(_ connection: Connection, elapsed: ElapsedTime) {
        self.connection = connection
        self.elapsed = elapsed
    }

    var profiles: ProfileTable { ProfileTable(connection) }
    var chats: ChatTable { ChatTable(connection) }
    var inbox: InboxTable { InboxTable(connection) }
    var relays: RelayTable { RelayTable(connection) }
    var messagingServers: MessagingServerTable { MessagingServerTable(connection) }
    var selection: SelectionTable { SelectionTable(connection) }
    var damagedCopies: DamagedCopyTable { DamagedCopyTable(connection) }
    var parts: PartTable { PartTable(connection) }

    /// Has those who hold these chats look at them again.
    func announce(_ sides: [ChatSide]) throws {
        for side in sides { try inbox.post(.chatUpdated, to: side) }
    }

    /// What a profile has with people on the network.
    func network(of profile: Int64) -> NetworkTables { NetworkTables(connection, of: profile) }

    func tables(of profile: Int64, _ context: ItemTable.FileContext) -> ProfileTables {
        ProfileTables(connection, directory: self, profile: profile, context)
    }
}

/// The tables as one profile has them, within one transaction.
struct ProfileTables {
    let directory: DirectoryTables
    let items: ItemTable
    let files: FileTable
    let uploads: UploadTable
    let downloads: DownloadTable
    let inlineContents: InlineContentTable
    let chunkDeletions: ChunkDeletionTable
    let network: NetworkTables
    let sharedMessages: SharedMessageTable
    let groupDeliveries: GroupDeliveryTable
    let messageLog: MessageLogTable
    let handed: HandedMessageTable

    fileprivate init(
        _ connection: Connection, directory: DirectoryTables, profile: Int64,
        _ context: ItemTable.FileContext
    ) {
        self.directory = directory
        items = ItemTable(connection, of: profile, context)
        files = FileTable(connection, of: profile)
        uploads = UploadTable(connection, of: profile)
        downloads = DownloadTable(connection, of: profile)
        inlineContents = InlineContentTable(connection, of: profile)
        chunkDeletions = ChunkDeletionTable(connection, of: profile)
        network = directory.network(of: profile)
        sharedMessages = SharedMessageTable(connection)
        groupDeliveries = GroupDeliveryTable(connection)
        messageLog = MessageLogTable(connection)
        handed = HandedMessageTable(connection, of: profile)
    }

    var people: PeopleTable { network.people }
    var outgoing: OutgoingTable { network.outgoing }
    var requests: RequestTable { network.requests }
    var groups: GroupTable { network.groups }
    var memberConnections: MemberConnectionTable { network.memberConnections }
    var retention: RetentionTable { network.retention }
    var inlineTransfers: InlineTransferTable { network.inlineTransfers }

    var chats: ChatTable { directory.chats }
    var inbox: InboxTable { directory.inbox }
    var relays: RelayTable { directory.relays }
}
