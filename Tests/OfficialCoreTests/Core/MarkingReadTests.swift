import ChatCore
import ScriptedCore
import Testing

@testable import OfficialCore

@Suite("Read state of opened files")
struct MarkingReadTests {
    private func stage() throws -> Stage {
        try Stage { state in
            state.groups[3] = "club"
            state.history.append([
                ScriptedMessage(id: 1, contact: 1, name: "a.jpg"),
                ScriptedMessage(id: 2, chat: "@1", isSent: true, name: "own.jpg"),
                ScriptedMessage(id: 3, chat: "#3(_support:9)", name: "b.jpg"),
            ])
        }
    }

    private func open(
        _ stage: Stage, _ prepare: (inout OfficialCoreSettings) -> Void = { _ in }
    ) async throws -> OfficialCore {
        var settings = stage.settings()
        prepare(&settings)
        let core = try await OfficialCore.open(stage.transport, settings)
        #expect(
            try await eventually {
                let direct = try await core.items(of: .direct(1), before: nil, count: 10).count
                let group = try await core.items(of: .group(3), before: nil, count: 10).count
                return direct == 2 && group == 1
            })
        return core
    }

    @Test func receivedItemIsMarkedOnce() async throws {
        let stage = try stage()
        let first = try await open(stage)
        for _ in 0..<5 {
            for id in 1...2 { first.noteOpened(ItemID(Int64(id)), in: .direct(1)) }
        }
        first.noteOpened(ItemID(3), in: .group(3))
        let read = "/_read chat items "
        #expect(await eventually { stage.simplex.count(read) == 2 })
        #expect(
            stage.simplex.commands.filter { $0.hasPrefix(read) }.sorted() == [
                read + "#3(_support:9) 3", read + "@1 1",
            ])
        #expect(
            try await eventually {
                try await blocking.run {
                    try first.index.read { try $0.items.unreadReference(of: ItemID(1)) } == nil
                }
            })
        await first.shutDown()
        stage.restart()
        let second = try await open(stage)
        second.noteOpened(ItemID(1), in: .direct(1))
        // The next item's mark shows that the task also checked this item.
        stage.simplex.tellNew(ScriptedMessage(id: 9, contact: 1, name: "c.jpg"))
        #expect(
            try await eventually { try await second.item(ItemID(9), in: .direct(1)).file?.name == "c.jpg" })
        second.noteOpened(ItemID(9), in: .direct(1))
        #expect(await eventually { stage.simplex.count(read + "@1 9") == 1 })
        #expect(stage.simplex.count(read) == 1)
        await second.shutDown()
    }

    @Test func settingPreventsMark() async throws {
        let stage = try stage()
        let core = try await open(stage) { $0.marksRead = false }
        core.noteOpened(ItemID(1), in: .direct(1))
        #expect(!core.readReceipts.isOpened(ItemID(1)))
        await core.shutDown()
        #expect(stage.simplex.count("/_read") == 0)
    }

    @Test func markWaitsForAbsentCore() async throws {
        let stage = try stage()
        let core = try await open(stage)
        stage.transport.disconnect()
        core.noteOpened(ItemID(1), in: .direct(1))
        #expect(await eventually { core.readReceipts.isUnreported(ItemID(1)) })
        stage.transport.connect()
        #expect(await eventually { stage.simplex.count("/_read chat items @1 1") == 1 })
        await core.shutDown()
    }
}
