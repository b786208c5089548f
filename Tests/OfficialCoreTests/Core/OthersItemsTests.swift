import ChatCore
import ScriptedCore
import Testing

@testable import OfficialCore

/// The core's item numbers are unique over all chats, but its delete command applies to the named chat.
@Suite("Items of other chats")
struct OthersItemsTests {
    private func stage() throws -> Stage {
        try Stage { state in
            state.contacts = [1: "bob", 2: "carol"]
            state.groups = [3: "club"]
            for (id, chat) in [(1, "@1"), (2, "@2"), (3, "#3"), (4, "#3(_support:9)"), (5, "#3(_support)")] {
                state.history.append(ScriptedMessage(id: Int64(id), chat: chat, name: "\(id).txt"))
            }
            for id in [6, 7] as [Int64] {
                var own = ScriptedMessage(id: id, chat: "@\(id - 5)", isSent: true, name: "\(id).txt")
                own.status = #"{"type":"sndComplete"}"#
                state.history.append(own)
            }
            var text = ScriptedMessage(id: 8, contact: 1, name: "")
            (text.type, text.text) = ("text", "hello")
            state.history.append(text)
        }
    }

    private func opened() async throws -> (Stage, OfficialCore) {
        let stage = try stage()
        var settings = stage.settings()
        // No periodic comparison; only a command removes an item.
        settings.reconcileInterval = .seconds(600)
        let core = try await OfficialCore.open(stage.transport, settings)
        #expect(await eventually { (try? await core.itemCount()) == 7 })
        return (stage, core)
    }

    private func ids(_ stage: Stage) -> [Int64] {
        stage.simplex.change { $0.history.all.map(\.id).sorted() }
    }

    private func code(_ body: () async throws(ChatError) -> Void) async -> ChatErrorCode? {
        do throws(ChatError) {
            try await body()
            return nil
        } catch {
            return error.code
        }
    }

    @Test(
        "an item of another chat prevents the deletion",
        arguments: [
            ([2], ChatReference.direct(1)), ([1, 2], .direct(1)), ([2, 1], .direct(1)), ([3], .direct(1)),
            ([1], .group(3)), ([4, 1], .group(3)), ([1], .notes(1)), ([99], .direct(1)),
            ([1, 99], .direct(1)),
        ] as [([Int64], ChatReference)])
    func anotherChat(items: [Int64], chat: ChatReference) async throws {
        let (stage, core) = try await opened()
        let expected: ChatErrorCode = chat == .notes(1) ? .noSuchChat : .noSuchItem
        for mode in [DeletionMode.internal, .broadcast] where mode == .internal || items.count == 1 {
            #expect(
                await code { () throws(ChatError) in
                    try await core.deleteItems(items.map(ItemID.init), in: chat, mode: mode)
                } == expected)
        }
        #expect(ids(stage) == Array(1...8) && stage.simplex.count("/_delete item") == 0)
        #expect(try await core.itemCount() == 7)
        await core.shutDown()
    }

    @Test("each scope is addressed by its name")
    func parts() async throws {
        let (stage, core) = try await opened()
        try await core.deleteItems([3, 4, 5].map(ItemID.init), in: .group(3), mode: .internal)
        let commands = stage.simplex.commands.filter { $0.hasPrefix("/_delete item ") }
        #expect(
            commands.sorted() == [
                "/_delete item #3 3 internal", "/_delete item #3(_support) 5 internal",
                "/_delete item #3(_support:9) 4 internal",
            ])
        #expect(ids(stage) == [1, 2, 6, 7, 8])
        #expect(try await core.items(of: .group(3), before: nil, count: 9).isEmpty)
        await core.shutDown()
    }

    @Test("an unindexed text is deleted in the core")
    func unshown() async throws {
        let (stage, core) = try await opened()
        #expect(
            await code { () throws(ChatError) in
                try await core.deleteItems([ItemID(8)], in: .direct(2), mode: .internal)
            } == .noSuchItem)
        #expect(
            await code { () throws(ChatError) in
                try await core.deleteItems([ItemID(8)], in: .direct(1), mode: .broadcast)
            } == .invalidCommand, "somebody else wrote it")
        try await core.deleteItems([ItemID(8), ItemID(1)], in: .direct(1), mode: .internal)
        #expect(ids(stage) == [2, 3, 4, 5, 6, 7])
        await core.shutDown()
    }

    @Test("a refused deletion keeps the relay's chunks")
    func refusedForEveryone() async throws {
        let (stage, core) = try await opened()
        for items in [[6, 1], [6, 7], [7]] as [[Int64]] {
            #expect(
                await code { () throws(ChatError) in
                    try await core.deleteItems(items.map(ItemID.init), in: .direct(1), mode: .broadcast)
                } != nil)
        }
        #expect(stage.simplex.count("/fcancel") == 0 && ids(stage) == Array(1...8))
        try await core.deleteItems([ItemID(6)], in: .direct(1), mode: .broadcast)
        #expect(stage.simplex.count("/fcancel 1006") == 1 && ids(stage) == [1, 2, 3, 4, 5, 7, 8])
        await core.shutDown()
    }

    @Test("an empty deletion sends no command")
    func nothing() async throws {
        let (stage, core) = try await opened()
        try await core.deleteItems([], in: .direct(1), mode: .broadcast)
        #expect(stage.simplex.count("/_delete item") == 0 && ids(stage) == Array(1...8))
        await core.shutDown()
    }

    @Test("a preview request names the scope")
    func previews() async throws {
        let (stage, core) = try await opened()
        stage.simplex.change { state in
            for id in [1, 4] as [Int64] {
                state.history.change(id) { ($0.type, $0.preview) = ("image", "data:image/\(id)") }
            }
        }
        #expect(try await core.preview(of: ItemID(1), in: .direct(1)) == "data:image/1")
        #expect(try await core.preview(of: ItemID(4), in: .group(3)) == "data:image/4")
        for (item, chat, expected) in [
            (1, ChatReference.direct(2), ChatErrorCode.noSuchItem), (4, .direct(1), .noSuchItem),
            (1, .direct(9), .noSuchChat), (99, .direct(1), .noSuchItem), (99, .group(9), .noSuchChat),
        ] {
            #expect(
                await code { () throws(ChatError) in
                    _ = try await core.preview(of: ItemID(Int64(item)), in: chat)
                } == expected)
        }
        await core.shutDown()
    }
}
