import Agent
import Base
import ChatProtocol
import Cryptography
import Store

/// The database of a data directory, which the processes of all its profiles share. All of its SQL is in the tables
/// of this folder. All calls block.
final class DirectoryStore: Sendable {
    private let database: Database

    /// - Parameter key: with which it is encrypted; nil: not.
    /// - Throws: `StoreError`: as `Database`.
    init(
        path: String, key: SecretBytes? = nil, consent: MigrationConsent = .given
    ) throws(StoreError) {
        database = try Database(path: path, migrations: Schema.migrations, key: key, consent: consent)
    }

    /// Reads from one snapshot.
    func read<Result>(_ body: (DirectoryTables) throws -> Result) throws -> Result {
        try database.read { try body(DirectoryTables($0)) }
    }

    /// Changes all that `body` changes, or, when it throws, nothing.
    @discardableResult
    func change<Result>(_ body: (DirectoryTables) throws -> Result) throws -> Result {
        try database.transaction { try body(DirectoryTables($0)) }
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

    init(_ connection: Connection) { self.connection = connection }

    var profiles: ProfileTable { ProfileTable(connection) }
    var chats: ChatTable { ChatTable(connection) }
    var inbox: InboxTable { InboxTable(connection) }
    var relays: RelayTable { RelayTable(connection) }
    var messagingServers: MessagingServerTable { MessagingServerTable(connection) }
    var selection: SelectionTable { SelectionTable(connection) }
    var damagedCopies: DamagedCopyTable { DamagedCopyTable(connection) }
    func retention(of profile: Int64) -> RetentionTable { RetentionTable(connection, of: profile) }

    /// Has those who hold these chats look at them again.
    func announce(_ sides: [ChatSide]) throws {
        for side in sides { try inbox.post(.chatUpdated, to: side) }
    }

    /// Has the agent say farewell to the contact or group of a chat that is left, and delete the connection; nothing for a chat
    /// that is with nobody on the network.
    func part(fromContactOf chat: Int64, _ profile: Int64, at time: Timestamp) throws {
        let isGroup = try GroupTable(connection, of: profile).contains(chat)
        let farewell = ChatMessage(
            isGroup ? .group(.left) : .contactDeleted, id: SharedMessageID(from: SystemRandomSource()))
        for id in try connections(ofChat: chat, profile, at: time) {
            try OutgoingTable(connection, of: profile).add(OutgoingMessage(farewell, to: id, ends: true))
            try PeopleTable(connection, of: profile).end(id)
            try MemberConnectionTable(connection, of: profile).forget(id)
        }
        try MemberConnectionTable(connection, of: profile).endAll(in: chat)
    }

    /// Over which what a profile says in a chat goes: to the contact, or to the host of a group and to the members with
    /// which it has connections of its own. Empty for a chat that is with nobody on the network.
    func connections(ofChat chat: Int64, _ profile: Int64, at time: Timestamp) throws -> [ConnectionID] {
        let first = try PeopleTable(connection, of: profile).connection(ofChat: chat)
        return try (first.map { [$0] } ?? [])
            + MemberConnectionTable(connection, of: profile).carrying(in: chat, at: time).map(\.id)
    }

    /// Has the agent tell the profile's contacts on the network how it is called now.
    func introduce(_ profile: Int64, as name: String) throws {
        for id in try PeopleTable(connection, of: profile).open() {
            try retention(of: profile).introduce(over: id, as: name)
        }
        try RequestTable(connection, of: profile).noteRenamed()
    }

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
    let people: PeopleTable
    let sharedMessages: SharedMessageTable
    let outgoing: OutgoingTable
    let requests: RequestTable
    let groups: GroupTable
    let memberConnections: MemberConnectionTable
    let groupDeliveries: GroupDeliveryTable
    let messageLog: MessageLogTable
    let handed: HandedMessageTable
    let retention: RetentionTable

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
        people = PeopleTable(connection, of: profile)
        sharedMessages = SharedMessageTable(connection)
        outgoing = OutgoingTable(connection, of: profile)
        requests = RequestTable(connection, of: profile)
        groups = GroupTable(connection, of: profile)
        memberConnections = MemberConnectionTable(connection, of: profile)
        groupDeliveries = GroupDeliveryTable(connection)
        messageLog = MessageLogTable(connection)
        handed = HandedMessageTable(connection, of: profile)
        retention = RetentionTable(connection, of: profile)
    }

    /// Whether a chat is with somebody on the network, also where nobody of a group can be reached.
    func isOnNetwork(_ chat: Int64) throws -> Bool {
        try people.connection(ofChat: chat) != nil || groups.contains(chat)
    }

    var chats: ChatTable { directory.chats }
    var inbox: InboxTable { directory.inbox }
    var relays: RelayTable { directory.relays }
}
