import Agent
import Base
import ChatCore
import ChatProtocol
import CoreServices
import Store
import TestSupport
import Testing

@testable import EmbeddedCore

/// The tables of a data directory with two profiles.
struct StoreStage {
    static let now = Timestamp(seconds: 1_800_000_000)
    /// The same time by the database's clock.
    static let elapsed = ElapsedTime(seconds: 10_000_000)

    private let folder: TemporaryFolder
    let database: Database
    let alice: Int64
    let bob: Int64

    init() throws {
        folder = try TemporaryFolder()
        database = try Database(
            path: folder.path("chatfs.db"), migrations: Schema.migrations, durability: .eventual)
        (alice, bob) = try database.transaction { connection in
            let profiles = DirectoryTables(connection, elapsed: Self.elapsed).profiles
            return (
                try profiles.insert("alice", at: Self.now).id, try profiles.insert("bob", at: Self.now).id
            )
        }
    }

    /// Changes alice's tables, or another profile's.
    @discardableResult
    func change<Result>(of profile: Int64? = nil, _ body: (ProfileTables) throws -> Result) throws -> Result {
        try database.transaction { connection in
            let context = ItemTable.FileContext(filesPath: "/files", progress: [:])
            return try body(
                DirectoryTables(connection, elapsed: Self.elapsed).tables(of: profile ?? alice, context))
        }
    }

    func execute(_ sql: String) throws { try database.transaction { try $0.execute(sql) } }

    func count(_ table: String, _ condition: String = "1") throws -> Int64 {
        try database.read { connection in
            try connection.first("SELECT count(*) AS count FROM \(table) WHERE \(condition)") {
                $0.integer("count")
            } ?? 0
        }
    }

    /// Names of all tables.
    func tables() throws -> [String] {
        try database.read { connection in
            try connection.query(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
            ) { $0.text("name") }
        }
    }

    /// Columns of a table.
    func columns(of table: String) throws -> [String] {
        try database.read { connection in
            try connection.query("SELECT name FROM pragma_table_info('\(table)')") { $0.text("name") }
        }
    }

    /// Inserts a message with a file into a profile's notes.
    /// - Parameter columns: values of the file's row, as SQL.
    func file(
        _ status: StoredFileStatus, kind: StoredContentKind = .file, of profile: Int64? = nil,
        _ columns: [String: String] = [:]
    ) throws -> (item: ItemID, file: FileID) {
        let profile = profile ?? alice
        let direction = status.isSent ? ChatItem.Direction.sent : .received
        return try database.transaction { connection in
            try connection.execute(
                """
                INSERT INTO item (profile, chat, direction, sender, time, created, kind, preview, seconds, text)
                SELECT profile, id, ?, 'zoe', 1, 2, ?, '', 0, '' FROM chat WHERE profile = ? AND kind = 'notes'
                """, direction, kind, profile)
            let item = ItemID(connection.lastInsertedID)
            try connection.execute(
                """
                INSERT INTO file (profile, item, name, size, transport, status, created)
                VALUES (?, ?, 'a.pdf', 7, 'xftp', ?, 3)
                """, profile, item.rawValue, status)
            let file = FileID(connection.lastInsertedID)
            for (column, value) in columns.sorted(by: { $0.key < $1.key }) {
                try connection.execute("UPDATE file SET \(column) = \(value) WHERE id = \(file.rawValue)")
            }
            return (item, file)
        }
    }

    /// Inserts a network group that the profile has joined over connection `number`.
    func group(_ number: Int64, of profile: Int64? = nil) throws -> Int64 {
        try change(of: profile) { tables in
            let id = ConnectionID(number)
            try tables.people.insert(id)
            let chat = try tables.chats.insertGroup(named: "club", of: profile ?? alice, at: Self.now)
            try tables.groups.insert(Self.conversation, chat: chat, over: id)
            return chat
        }
    }

    static let conversation = GroupConversation(
        own: MemberReference(id: member(1), role: .member), host: member(2),
        profile: GroupProfile(displayName: "club"))

    static func member(_ number: UInt8) -> MemberID { MemberID(bytes: [0, number])! }
    static func message(_ number: Int) -> SharedMessageID {
        SharedMessageID(bytes: [UInt8(number / 256), UInt8(number % 256)])!
    }
}
