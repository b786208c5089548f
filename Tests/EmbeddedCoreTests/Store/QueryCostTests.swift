import Base
import CSQLite
import ChatCore
import ChatProtocol
import Testing

@testable import EmbeddedCore
@testable import Store

/// An element of a peer's message must not read all members or files, because one body has up to 255. Counts
/// the steps of SQLite's program, independent of the machine.
@Suite("Cost of hostile messages")
struct QueryCostTests {
    private let stage: StoreStage
    private let chat: Int64
    private static let elements = 255
    /// Far below one scan of all members per element.
    private static let maxSteps = 500_000

    /// A group with the maximum number of members.
    init() throws {
        stage = try StoreStage()
        chat = try stage.group(1)
        try stage.execute(
            """
            WITH RECURSIVE number (n) AS
            (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < \(GroupTable.maxMembers))
            INSERT INTO network_member (chat, member, role, introduction, status, is_blocked)
            SELECT \(chat), CAST('member ' || n AS BLOB), 'member', x'00', 'heardOf', 0 FROM number
            """)
    }

    /// Returns the number of steps.
    private func steps(_ body: (ProfileTables) throws -> Void) throws -> Int {
        try stage.database.transaction { connection in
            let context = ItemTable.FileContext(filesPath: "/files", progress: [:])
            let tables = DirectoryTables(connection, elapsed: StoreStage.elapsed).tables(
                of: stage.alice, context)
            let before = connection.steps
            try body(tables)
            return connection.steps - before
        }
    }

    /// Receives messages of the host in one transaction.
    private func steps(of messages: [ChatMessage]) throws -> Int {
        try steps { tables in
            var group = StoreStage.conversation
            let stored = StoredConversation(chat, tables)
            for message in messages {
                for effect in try group.receive(.message(message), at: StoreStage.now, from: stored) {
                    switch effect {
                    case .memberChanged(let member): try tables.groups.keep(member, of: chat)
                    case .seen(let key): try tables.sharedMessages.noteSeen(key, in: chat)
                    default: break
                    }
                }
            }
        }
    }

    @Test("unknown authors of a full group are counted once")
    func unknownAuthors() throws {
        let messages = (0..<Self.elements).map { number in
            let left = ChatMessage(.group(.left), id: StoreStage.message(number))
            return ChatMessage(
                .group(
                    .forwarded(
                        ForwardedMessage(
                            author: StoreStage.member(UInt8(number)), message: left, time: StoreStage.now))),
                id: nil)
        }
        #expect(try steps(of: messages) < Self.maxSteps)
        #expect(try stage.count("network_member") == GroupTable.maxMembers)
    }

    @Test("unknown authors cost a full group one scan for ever")
    func laterAuthors() throws {
        var sum = 0
        for number in UInt8(0)..<50 {
            let author = GroupMember(
                id: StoreStage.member(number), role: .member,
                profile: ContactProfile(displayName: "unknown"))
            sum += try steps { try $0.groups.keep(author, of: chat) }
        }
        #expect(sum < Self.maxSteps / 2)
        #expect(try stage.count("network_member") == GroupTable.maxMembers)
    }

    @Test("renamed member of a full group costs no scan")
    func renamed() throws {
        let host = GroupMember(
            host: MemberReference(id: StoreStage.conversation.host, role: .member),
            profile: ContactProfile(displayName: "hans"))
        try stage.execute("DELETE FROM network_member WHERE member = CAST('member 1' AS BLOB)")
        try stage.change { try $0.groups.keep(host, of: chat) }
        let messages = (0..<Self.elements).map { number in
            ChatMessage(
                .information(ContactProfile(displayName: "hans \(number % 2)")),
                id: StoreStage.message(number))
        }
        #expect(try steps(of: messages) < Self.maxSteps)
        let renamed = try stage.change { try $0.groups.member(host.id, of: chat) }
        #expect(renamed?.profile.displayName == "hans 0")
    }

    @Test("size reads few members")
    func size() throws {
        let steps = try steps { tables in
            // Read once per body.
            for _ in 0..<50 { _ = try tables.groups.size(of: chat) }
        }
        #expect(steps < Self.maxSteps)
    }

    @Test("departed member costs no scan of others' files")
    func departed() throws {
        for number in 1...1000 {
            let made = try stage.file(.rcvInvitation, ["transport": "'smp'"])
            try stage.execute("UPDATE item SET chat = \(chat) WHERE id = \(made.item.rawValue)")
            try stage.change {
                try $0.sharedMessages.keep(
                    MessageRecord(time: StoreStage.now, hasFile: true),
                    of: MessageKey(StoreStage.message(number), by: .member(StoreStage.member(1))), in: chat,
                    item: made.item)
            }
        }
        let steps = try steps { tables in
            for number in 2..<UInt8(Self.elements) {
                let lost = try tables.inlineTransfers.giveUp(
                    in: chat, by: .member(StoreStage.member(number)), FileProblem(.other, "Gone."))
                #expect(lost.isEmpty)
            }
        }
        #expect(steps < Self.maxSteps)
    }
}

extension Connection {
    /// Number of steps of the cached statements.
    fileprivate var steps: Int {
        var (steps, statement) = (0, sqlite3_next_stmt(handle, nil))
        while let current = statement {
            steps += Int(sqlite3_stmt_status(current, SQLITE_STMTSTATUS_VM_STEP, 0))
            statement = sqlite3_next_stmt(handle, current)
        }
        return steps
    }
}
