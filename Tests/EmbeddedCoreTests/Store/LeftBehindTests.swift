import Agent
import Base
import ChatCore
import ChatProtocol
import SMP
import Store
import TestSupport
import Testing

@testable import EmbeddedCore

/// Rows left after deletions and partial exports. Lists every table, so that new tables are considered.
@Suite("Rows left after deletion and export")
struct LeftBehindTests {
    /// Tables with a chat column.
    private static let ofChats: Set<String> = [
        "item", "message_line", "shared_message", "network_group", "network_member", "group_delivery",
        "held_outgoing", "member_connection", "description_part", "unasked_budget",
    ]
    /// Tables with a profile column only.
    private static let ofProfiles: Set<String> = [
        "file", "news", "relay", "approval", "messaging_server", "chunk_deletion", "connection", "outgoing",
        "contact_address", "contact_request", "early_message", "handed_message", "damaged_copy", "member",
        "refused_server",
        "chat",
    ]
    private static let others: Set<String> = ["profile", "chat_group"]
    /// Tables whose rows belong to a file.
    private static let ofFiles: Set<String> = ["inline_transfer", "inline_chunk"]
    private static let ofTheStore: Set<String> = ["elapsed_time", "schema_version", "part"]

    /// Fills every table for a profile with a contact and a network group. Returns the two chats.
    private static func fill(_ stage: StoreStage, profile: Int64, number: Int64) throws -> [Int64] {
        let group = try stage.group(number, of: profile)
        return try stage.change(of: profile) { tables in
            let id = ConnectionID(number + 1)
            try tables.people.insert(id)
            let contact = try tables.chats.insertContact("zoe", of: profile, at: StoreStage.now)
            try tables.people.keep(
                ContactConversation(profile: ContactProfile(displayName: "zoe"), versions: nil), of: id,
                chat: contact)
            let message = StoreStage.message(1)
            for chat in [group, contact] {
                try tables.sharedMessages.keep(
                    MessageRecord(time: StoreStage.now, hasFile: false), of: MessageKey(message, by: .own),
                    in: chat, item: nil)
                try tables.network.budgets.spend(1, of: .contact, in: chat, at: StoreStage.elapsed)
                let part = DescriptionPart(text: "a secret", number: 1, isLast: false)
                try tables.sharedMessages.keep(
                    PartialDescription(length: 8, count: 1, isComplete: false, first: part.text), after: part,
                    of: MessageKey(message, by: .contact), in: chat)
            }
            let row = HandedMessageTable.Message(id: message, item: nil, delivery: nil)
            _ = try tables.handed.note(row, of: id, as: 1, at: StoreStage.elapsed)
            _ = try tables.groupDeliveries.begin(row, in: group, to: 2, at: StoreStage.elapsed)
            let member = GroupMember(
                id: StoreStage.member(3), role: .member, profile: ContactProfile(displayName: "carol"))
            try tables.groups.keep(member, of: group)
            let link = MemberConnection(
                to: member.id, introducer: StoreStage.member(2), phase: .toJoin, link: "a secret link")
            try tables.memberConnections.begin(link, in: group, at: StoreStage.elapsed)
            let words = try OutgoingMessage(
                ChatMessage(.contactDeleted, id: message), to: ConnectionID(number))
            try tables.memberConnections.hold(words, in: group, at: StoreStage.elapsed)
            try tables.outgoing.add(words)
            try tables.groups.hold([1], at: StoreStage.now, over: ConnectionID(number + 5))
            try tables.requests.insert(address: ConnectionID(number + 2), link: "address", .ask)
            try tables.requests.insert(
                ContactRequestID(number), sameAs: nil, message: [1], at: StoreStage.now, .waiting)
            try tables.directory.messagingServers.add(["server"], to: profile)
            try tables.relays.add([RelayWithPassword(address: "relay", password: nil)], to: profile)
            try tables.network.refusedServers.insert(
                #require(ServerAddress("smp://\(String(repeating: "A", count: 43))=@10.0.0.1")),
                at: StoreStage.now)
            try tables.inbox.post(.chatUpdated, to: ChatSide(profile: profile, chat: contact))
            try tables.chunkDeletions.add(
                UploadedChunks(senderDescription: "d", state: nil, linkDescription: nil), of: FileID(number),
                at: StoreStage.now)
            try tables.directory.damagedCopies.keep(
                FileArguments(key: [1], nonce: [2]), of: FileID(number), in: profile)
            for chat in [group, contact] {
                let line = MessageLine(.deletion, of: message, at: StoreStage.now, .sent, by: "me")
                try tables.messageLog.append(line, to: chat, at: StoreStage.now, request: nil)
            }
            return [group, contact]
        }
    }

    /// Rows that belong to the profile or chats.
    private static func rows(_ stage: StoreStage, ofProfile profile: Int64, chats: [Int64]) throws -> [String:
        Int64]
    {
        let list = chats.map(String.init).joined(separator: ", ")
        var rows: [String: Int64] = [:]
        for table in try stage.tables() {
            let columns = try stage.columns(of: table)
            let condition =
                columns.contains("profile")
                ? "profile = \(profile)" : columns.contains("chat") ? "chat IN (\(list))" : "0"
            rows[table] = try stage.count(table, condition)
        }
        return rows
    }

    @Test("every table is listed")
    func tables() throws {
        let known = Self.ofChats.union(Self.ofProfiles).union(Self.others).union(Self.ofFiles)
        #expect(try Set(StoreStage().tables()).subtracting(known).subtracting(Self.ofTheStore).isEmpty)
    }

    @Test("deleted profile leaves no rows")
    func profile() throws {
        let stage = try StoreStage()
        let chats = try Self.fill(stage, profile: stage.alice, number: 10)
        let others = try Self.fill(stage, profile: stage.bob, number: 20)
        let before = try Self.rows(stage, ofProfile: stage.bob, chats: others)
        let filled = try Self.rows(stage, ofProfile: stage.alice, chats: chats)
        let empty = filled.filter { $0.value == 0 }.map(\.key)
        #expect(
            Set(empty).isSubset(
                of: Set(["item", "file", "approval", "member", "profile", "chat_group"])
                    .union(Self.ofTheStore).union(Self.ofFiles)))
        try stage.change { tables in
            for chat in chats { try tables.chats.remove(chat) }
            try tables.directory.profiles.remove(stage.alice)
        }
        let left = try Self.rows(stage, ofProfile: stage.alice, chats: chats).filter { $0.value > 0 }
        #expect(left.isEmpty, "\(left)")
        #expect(try Self.rows(stage, ofProfile: stage.bob, chats: others) == before)
    }

    @Test("deleted chat leaves no rows")
    func chat() throws {
        let stage = try StoreStage()
        let chats = try Self.fill(stage, profile: stage.alice, number: 10)
        try stage.change { tables in
            try tables.network.part(fromContactOf: chats[0], at: StoreStage.elapsed)
            try tables.chats.remove(chats[0])
        }
        for table in Self.ofChats where table != "member_connection" {
            #expect(try stage.count(table, "chat = \(chats[0])") == 0, "\(table)")
        }
        // Rows of members' connections remain only for deletions by the agent; it does not have this one.
        #expect(try stage.count("member_connection") == 0)
        #expect(try stage.count("message_line", "chat = \(chats[1])") == 1)
        #expect(try stage.count("connection", "is_ended = 1 AND chat IS NULL") == 1)
    }

    @Test(
        "partial export contains only the selection")
    func selection() throws {
        let stage = try StoreStage()
        let chats = try Self.fill(stage, profile: stage.alice, number: 10)
        _ = try Self.fill(stage, profile: stage.bob, number: 20)
        try stage.change { try $0.directory.selection.keep([chats[1]], of: stage.alice) }
        for table in try stage.tables() {
            switch table {
            case "chat":
                let kept = try stage.database.read { connection in
                    try connection.query("SELECT id, kind, ended FROM chat ORDER BY id") {
                        "\($0.text("kind")) \($0.textOrNil("ended") ?? "")"
                    }
                }
                #expect(kept == ["notes ", "direct contact_deleted"])
            case "profile": #expect(try stage.count(table) == 1)
            case "message_line": #expect(try stage.count(table) == 1)
            case "relay", "messaging_server":
                #expect(try stage.count(table) == 1 && stage.count(table, "profile = \(stage.alice)") == 1)
            case _ where Self.ofTheStore.contains(table): break
            default: #expect(try stage.count(table) == 0, "\(table)")
            }
        }
    }
}
