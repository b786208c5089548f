import Base
import Cryptography
import Posix
import Store

/// The database of a data directory, shared by the processes of its profiles. All SQL is in the tables of
/// this folder. All calls block.
final class DirectoryStore: Sendable {
    private let database: Database
    private let clock: StoredClock

    /// - Parameters:
    ///   - key: database key; nil if it is not encrypted.
    ///   - reservesSpace: whether files can be deleted on a full disk.
    /// - Throws: the errors of `Database`.
    init(
        path: String, key: SecretBytes? = nil, consent: MigrationConsent = .given,
        reservesSpace: Bool = false, clock: any BootClock = SystemBootClock()
    ) throws(StoreError) {
        database = try Database(
            path: path, migrations: Schema.migrations, key: key, consent: consent,
            reservesSpace: reservesSpace)
        self.clock = try StoredClock(clock, in: database)
    }

    /// Reads from one snapshot.
    func read<Result>(_ body: (DirectoryTables) throws -> Result) throws -> Result {
        try database.read { try body(DirectoryTables($0, elapsed: clock.now())) }
    }

    /// Runs a transaction, which is rolled back if `body` throws.
    /// - Parameter frees: true for a removal, which a full disk does not refuse; `body` may then run twice.
    @discardableResult
    func change<Result>(
        frees: Bool = false, _ body: (DirectoryTables) throws -> Result
    ) throws -> Result {
        let write = { (connection: Connection) in
            try body(DirectoryTables(connection, elapsed: self.clock.keep(in: connection)))
        }
        guard frees else { return try database.transaction(write) }
        defer { database.reserveSpace() }
        return try database.freeingTransaction(write)
    }

    /// Closes the file.
    func close() { database.close() }

    /// Removes deleted data from the journal. Fails while another process reads; the next attempt of any
    /// process succeeds.
    func emptyJournal() throws(StoreError) { try database.checkpoint() }

    /// See `Database.commitOverUnfinished`.
    func commitOverUnfinished() throws { try database.commitOverUnfinished() }

    /// Whether the calling thread is inside a transaction, where slow work is forbidden.
    var isInTransaction: Bool { database.isInTransaction }
}

/// All tables within one transaction.
struct DirectoryTables {
    private let connection: Connection
    /// Time of the database's clock, for limits and retention. Users cannot set it.
    let elapsed: ElapsedTime

    init(_ connection: Connection, elapsed: ElapsedTime) {
        self.connection = connection
        self.elapsed = elapsed
    }

    var profiles: ProfileTable { ProfileTable(connection: connection) }
    var chats: ChatTable { ChatTable(connection: connection) }
    var inbox: InboxTable { InboxTable(connection: connection) }
    var relays: RelayTable { RelayTable(connection: connection) }
    var messagingServers: MessagingServerTable { MessagingServerTable(connection: connection) }
    var selection: SelectionTable { SelectionTable(connection: connection) }
    var damagedCopies: DamagedCopyTable { DamagedCopyTable(connection: connection) }
    var parts: PartTable { PartTable(connection: connection) }

    /// Makes the holders of these sides reload them.
    func announce(_ sides: [ChatSide]) throws {
        for side in sides { try inbox.post(.chatUpdated, to: side) }
    }

    /// Tables for a profile's network contacts.
    func network(of profile: Int64) -> NetworkTables { NetworkTables(connection, of: profile) }

    func tables(of profile: Int64, _ context: ItemTable.FileContext) -> ProfileTables {
        ProfileTables(connection, directory: self, profile: profile, context)
    }
}

/// One profile's view of the tables within one transaction.
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
        files = FileTable(connection: connection, profile: profile)
        uploads = UploadTable(connection: connection, profile: profile)
        downloads = DownloadTable(connection: connection, profile: profile)
        inlineContents = InlineContentTable(connection: connection, profile: profile)
        chunkDeletions = ChunkDeletionTable(connection: connection, profile: profile)
        network = directory.network(of: profile)
        sharedMessages = SharedMessageTable(connection: connection)
        groupDeliveries = GroupDeliveryTable(connection: connection)
        messageLog = MessageLogTable(connection: connection)
        handed = HandedMessageTable(connection: connection, profile: profile)
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
