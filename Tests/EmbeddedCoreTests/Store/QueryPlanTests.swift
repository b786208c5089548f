import Base
import ChatCore
import ChatProtocol
import Testing

@testable import EmbeddedCore
@testable import Store

/// Queries triggered by network messages must use indexes fully, and never scan a peer's earlier messages.
@Suite struct QueryPlanTests {
    private static let author = Author.member(StoreStage.member(3))

    /// Runs all queries for network messages, with a row in each table.
    private static func run(_ tables: ProfileTables, in chat: Int64) throws {
        let messages = tables.sharedMessages
        for author in [author, .own, .contact] {
            let key = MessageKey(StoreStage.message(1), by: author)
            let part = DescriptionPart(text: "a", number: 1, isLast: false)
            _ = try messages.waitingDescriptions(by: author, in: chat)
            try messages.keep(
                PartialDescription(length: 1, count: 1, isComplete: false, first: "a"), after: part, of: key,
                in: chat)
            try messages.noteSeen(key, in: chat)
            _ = try messages.description(of: key, in: chat)
            _ = try (messages.record(of: key, in: chat), messages.isSeen(key, in: chat))
            try messages.keep(
                MessageRecord(time: StoreStage.now, hasFile: true), of: key, in: chat, item: ItemID(1))
            _ = try (messages.item(key, in: chat), messages.sent(ItemID(1)), messages.received(ItemID(1)))
            _ = try tables.network.inlineTransfers.transfer(of: key, in: chat)
            _ = try tables.network.inlineTransfers.unasked(by: author, in: chat)
            _ = try tables.network.inlineTransfers.count(by: author, in: chat)
            _ = try tables.network.inlineTransfers.giveUp(
                in: chat, by: author, FileProblem(.other, "Gone."))
            try messages.prune(ItemID(1))
            try messages.forget(key, in: chat, at: StoreStage.now)
            try messages.forget(key.id, by: SharedMessageTable.word(author), in: chat)
        }
        _ = try messages.waitingDescriptions(by: nil, in: chat)
        _ = try messages.keys(by: StoreStage.member(3), in: chat)
        _ = try tables.groups.member(StoreStage.member(3), of: chat)
        _ = try tables.memberConnections.row(with: StoreStage.member(3), in: chat)
        _ = try tables.chats.chat(chat, of: tables.directory.profiles.all()[0].id)
    }

    @Test func networkMessageQueriesUseIndexes() throws {
        let stage = try StoreStage()
        let chat = try stage.group(1)
        try stage.change { try Self.run($0, in: chat) }
        let plans = try stage.database.transaction { connection in
            try connection.preparedTexts.filter { !$0.hasPrefix("INSERT") && !$0.hasPrefix("EXPLAIN") }.map {
                sql in
                let one = sql.replacing("?", with: "?1")
                let values: [(any SQLBindable)?] = one == sql ? [] : [nil]
                return (sql, try connection.plan(of: one, values))
            }
        }
        #expect(plans.count > 25)
        for (sql, steps) in plans
        where sql.contains("shared_message") || sql.contains("_part") || sql.contains("chat c") {
            for step in steps {
                // Few transfers run at once.
                #expect(!step.contains("SCAN") || step == "SCAN t", "\(sql): \(step)")
                // A chat or author may have any number of rows, except in partial indexes.
                let isBroad =
                    step.contains("shared_message")
                    && (step.hasSuffix("(chat=?)") || step.hasSuffix("(chat=? AND author=?)"))
                let isOfFew = step.contains("shared_message_waiting") || step.contains("shared_message_shown")
                #expect(!isBroad || isOfFew, "\(sql): \(step)")
            }
        }
    }
}

extension Connection {
    fileprivate func plan(of sql: String, _ values: [(any SQLBindable)?]) throws -> [String] {
        let explained = "EXPLAIN QUERY PLAN " + sql
        guard let value = values.first else { return try query(explained) { $0.text("detail") } }
        return try query(explained, value) { $0.text("detail") }
    }
}
