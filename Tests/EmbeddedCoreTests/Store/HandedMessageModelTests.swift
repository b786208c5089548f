import Agent
import Base
import ChatCore
import ChatProtocol
import TestSupport
import Testing

@testable import EmbeddedCore

/// Messages passed to the agent and their results in either order, compared with a model.
@Suite("Messages passed to the agent")
struct HandedMessageModelTests {
    private struct Place: Hashable {
        var profile: Int64
        var connection: Int64
        var number: Int64
    }

    private struct Row {
        var message: Int?
        var outcome: HandedMessageTable.Outcome?
        /// A file waits for it without limit.
        var announces = false
        var noted: ElapsedTime
    }

    private struct Model {
        var rows: [Place: Row] = [:]
        var handed: [Place: Int64] = [:]

        mutating func note(_ message: Int?, at place: Place, _ time: ElapsedTime) -> HandedMessageTable
            .Outcome?
        {
            let early = rows[place]?.outcome
            rows = rows.filter { key, row in
                key.profile != place.profile || key.connection != place.connection
                    || key.number > place.number
                    || row.outcome == nil
            }
            let base = Place(profile: place.profile, connection: place.connection, number: 0)
            handed[base] = max(handed[base] ?? 0, place.number)
            if let early, early != .sent { return early }
            let limit = time.advanced(by: .seconds(-31 * 86_400))
            rows = rows.filter { key, row in
                key.profile != place.profile || row.noted >= limit || row.announces
            }
            if let message, rows[place] == nil {
                rows[place] = Row(
                    message: message, announces: message.isMultiple(of: 2) && early != .sent, noted: time)
            }
            return early
        }

        mutating func take(_ outcome: HandedMessageTable.Outcome, at place: Place, _ time: ElapsedTime)
            -> Row?
        {
            if let row = rows[place], row.outcome == nil {
                // Another result follows.
                rows[place]?.announces = false
                if outcome != .sent { rows[place] = nil }
                return row
            }
            let base = Place(profile: place.profile, connection: place.connection, number: 0)
            if handed[base] ?? 0 < place.number, rows[place]?.outcome ?? .sent == .sent {
                rows[place] = Row(outcome: outcome, noted: rows[place]?.noted ?? time)
            }
            return nil
        }
    }

    @Test("results find messages in either order", arguments: UInt64(1)...8)
    func history(seed: UInt64) throws {
        let stage = try StoreStage()
        for profile in [stage.alice, stage.bob] {
            try stage.change(of: profile) { tables in
                for number: Int64 in [1, 2] { try tables.people.insert(ConnectionID(number)) }
            }
        }
        var (random, model, time) = (SeededGenerator(state: seed), Model(), StoreStage.elapsed)
        var (found, early) = (0, 0)
        for step in 0..<300 {
            time = time.advanced(by: .seconds(Int.random(in: 0...40_000, using: &random)))
            let profile = Bool.random(using: &random) ? stage.alice : stage.bob
            let connection = Int64.random(in: 1...2, using: &random)
            let base = Place(profile: profile, connection: connection, number: 0)
            let last = model.handed[base] ?? 0
            if Bool.random(using: &random) {
                let place = Place(
                    profile: profile, connection: connection,
                    number: last + Int64.random(in: 0...2, using: &random))
                let message = Int.random(in: 0..<5, using: &random) == 0 ? nil : step
                let expected = model.note(message, at: place, time)
                let row = HandedMessageTable.Message(
                    id: message.map { StoreStage.message($0) }, item: message.map { ItemID(Int64($0)) },
                    delivery: message.map { Int64($0) }, announces: step % 2 == 0)
                let told = try stage.change(of: profile) {
                    try $0.handed.note(row, of: ConnectionID(connection), as: place.number, at: time)
                }
                #expect(told == expected)
                if told != nil { early += 1 }
            } else {
                let place = Place(
                    profile: profile, connection: connection,
                    number: max(1, last + Int64.random(in: -3...4, using: &random)))
                let outcomes: [HandedMessageTable.Outcome] = [.sent, .delivered, .failed("because \(step)")]
                let outcome = try #require(outcomes.randomElement(using: &random))
                let row = model.take(outcome, at: place, time)
                let expected = row?.message
                let message = try stage.change(of: profile) {
                    try $0.handed.take(outcome, of: ConnectionID(connection), number: place.number, at: time)
                }
                #expect(message?.id == expected.map { StoreStage.message($0) })
                #expect(message?.item?.rawValue == expected.map { Int64($0) })
                #expect(message?.delivery == expected.map { Int64($0) })
                #expect(message?.announces == row?.announces)
                if message != nil { found += 1 }
            }
            #expect(try stage.count("handed_message") == Int64(model.rows.count))
        }
        #expect(found > 20 && early > 5)
    }

    @Test("unknown connection keeps no results")
    func unknown() throws {
        let stage = try StoreStage()
        let message = try stage.change {
            try $0.handed.take(.delivered, of: ConnectionID(9), number: 4, at: StoreStage.elapsed)
        }
        #expect(try message == nil && stage.count("handed_message") == 0)
    }
}

@Suite("Group delivery table")
struct GroupDeliveryTableTests {
    private static let message = HandedMessageTable.Message(
        id: StoreStage.message(4), item: ItemID(5), delivery: nil)

    private static func settle(
        _ outcomes: [HandedMessageTable.Outcome], of members: Int
    ) throws -> [GroupDeliveryTable.Settled?] {
        let stage = try StoreStage()
        return try stage.change { tables in
            let other = try tables.groupDeliveries.begin(Self.message, in: 7, to: 1, at: StoreStage.elapsed)
            let delivery = try tables.groupDeliveries.begin(
                Self.message, in: 8, to: members, at: StoreStage.elapsed)
            #expect(delivery != other)
            return try outcomes.map { try tables.groupDeliveries.note($0, of: delivery) }
        }
    }

    @Test("delivered after the last result with any receipt")
    func delivered() throws {
        let told = try Self.settle([.failed("a"), .delivered, .failed("b")], of: 3)
        #expect(told[0] == nil && told[1] == nil)
        #expect(told[2]?.chat == 8 && told[2]?.outcome == .delivered)
        #expect(told[2]?.message.id == Self.message.id && told[2]?.message.item == ItemID(5))
    }

    @Test("failed without receipts, with the last reason")
    func failed() throws {
        let told = try Self.settle([.failed("a"), .failed("b"), .delivered], of: 2)
        #expect(told[0] == nil && told[1]?.outcome == .failed("b") && told[2] == nil)
    }

    @Test("rows expire after 31 days per chat")
    func old() throws {
        let stage = try StoreStage()
        let later = StoreStage.elapsed.advanced(by: .seconds(31 * 86_400))
        try stage.change { tables in
            for chat: Int64 in [1, 2] {
                _ = try tables.groupDeliveries.begin(Self.message, in: chat, to: 1, at: StoreStage.elapsed)
            }
            _ = try tables.groupDeliveries.begin(Self.message, in: 1, to: 1, at: later)
        }
        #expect(try stage.count("group_delivery") == 3)
        try stage.change {
            _ = try $0.groupDeliveries.begin(
                Self.message, in: 1, to: 1, at: later.advanced(by: .nanoseconds(1)))
        }
        #expect(
            try stage.count("group_delivery", "chat = 1") == 2
                && stage.count("group_delivery", "chat = 2") == 1)
    }
}
