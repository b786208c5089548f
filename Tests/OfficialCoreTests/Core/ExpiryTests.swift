import Base
import ChatCore
import ScriptedCore
import Store
import Testing

@testable import OfficialCore

@Suite("Expiry order")
struct ExpiryTests {
    @Test("pages follow the expiry at 48 hours")
    func receivable() async throws {
        let stage = try Stage { state in
            for id in 1...4 as ClosedRange<Int64> {
                state.history.append(ScriptedMessage(id: id * 100, contact: 1, name: "\(id).bin"))
            }
            var here = ScriptedMessage(id: 500, contact: 1, name: "here.bin")
            here.status = #"{"type":"rcvComplete"}"#
            state.history.append(here)
            var gone = ScriptedMessage(id: 600, contact: 1, name: "gone.bin")
            gone.status = #"{"type":"rcvError","rcvFileError":{"type":"auth"}}"#
            state.history.append(gone)
            state.history.append(ScriptedMessage(id: 700, chat: "@1", isSent: true, name: "own.bin"))
        }
        let core = try await stage.open()
        let beginning = ExpiryPosition(Timestamp(seconds: 0))
        func receivable(after position: ExpiryPosition, count: Int = 100) async -> [String] {
            let items = try? await core.receivableItems(after: position, count: count)
            return (items ?? []).compactMap { $0.file?.name }
        }
        #expect(await eventually { await receivable(after: beginning).count == 4 })
        #expect(await eventually { (try? await core.itemCount()) == 7 })
        #expect(await receivable(after: beginning) == ["1.bin", "2.bin", "3.bin", "4.bin"])
        let items = try await core.receivableItems(after: beginning, count: 2)
        #expect(items.compactMap { $0.file?.name } == ["1.bin", "2.bin"])
        let second = try #require(items.last)
        #expect(second.relayExpiry == second.time.advanced(by: .seconds(48 * 3600)))
        #expect(await receivable(after: try #require(second.expiryPosition)) == ["3.bin", "4.bin"])
        let expiry = try #require(second.relayExpiry)
        #expect(await receivable(after: ExpiryPosition(expiry, ItemID(0)), count: 1) == ["2.bin"])
        #expect(try await core.item(ItemID(500), in: .direct(1)).relayExpiry == nil)
        #expect(try await core.item(ItemID(700), in: .direct(1)).relayExpiry != nil)
        await core.shutDown()
    }

    @Test("the query uses its index")
    func index() throws {
        let stage = try Stage()
        let database = try Database(path: stage.folder.path("index.sqlite"), migrations: Schema.migrations)
        let plan = try database.read { connection in
            try connection.query(
                """
                EXPLAIN QUERY PLAN SELECT id FROM item WHERE \(Schema.isLeaving) AND (time, id) > (5, 6)
                ORDER BY time, id LIMIT 10
                """
            ) { $0.text("detail") }
        }
        #expect(plan.count == 1 && plan[0].contains("leaving_item (time>"), "\(plan)")
    }
}
