import ChatCore
import ScriptedCore
import Testing

@testable import OfficialCore

@Suite("Support scopes of groups")
struct GroupPartTests {
    private static func stage() throws -> Stage {
        try Stage { state in
            state.groups = [3: "club"]
            state.history.append(ScriptedMessage(id: 1, chat: "#3", name: "for all.pdf"))
            state.history.append(ScriptedMessage(id: 2, chat: "#3(_support)", name: "mine.pdf"))
            state.history.append(
                (10...80).map { ScriptedMessage(id: $0, chat: "#3(_support:9)", name: "ann \($0).pdf") })
        }
    }

    private func names(_ core: OfficialCore) async throws -> Set<String> {
        Set(try await core.items(of: .group(3), before: nil, count: 1000).compactMap(\.file?.name))
    }

    @Test func historyOfEveryScopeIsWalked() async throws {
        let stage = try Self.stage()
        let core = try await stage.open()
        #expect(try await eventually { try await names(core).count == 73 })
        #expect(
            try await names(core).isSuperset(of: ["for all.pdf", "mine.pdf", "ann 10.pdf", "ann 80.pdf"]))
        #expect(stage.simplex.count("/_get chat #3(_support:9) before=31 count=50") >= 1)
        // The scopes have no folders of their own.
        #expect(try await core.chats().map(\.reference) == [.group(3), .direct(1)])
        await core.shutDown()
    }

    @Test func inaccessibleScopeDoesNotStopWalk() async throws {
        let stage = try Self.stage()
        stage.simplex.change { state in
            state.refusals["/_get chat #3(_support:9)"] =
                #"{"type":"error","errorType":{"type":"commandError","message":"not a moderator"}}"#
        }
        let core = try await stage.open()
        #expect(try await eventually { try await names(core) == ["for all.pdf", "mine.pdf"] })
        await core.shutDown()
    }

    @Test func deletionNamesMessageScope() async throws {
        let stage = try Self.stage()
        let core = try await stage.open()
        #expect(try await eventually { try await names(core).count == 73 })
        try await core.deleteItems([ItemID(1), ItemID(80)], in: .group(3), mode: .internal)
        #expect(stage.simplex.count("/_delete item #3 1 internal") == 1)
        #expect(stage.simplex.count("/_delete item #3(_support:9) 80 internal") == 1)
        #expect(try await names(core).isDisjoint(with: ["for all.pdf", "ann 80.pdf"]))
        await core.shutDown()
    }

    @Test func fileKeyRequestNamesScope() async throws {
        let stage = try Self.stage()
        let core = try await stage.open()
        #expect(try await eventually { try await names(core).count == 73 })
        stage.simplex.change { $0.history.change(40) { $0.status = #"{"type":"rcvComplete"}"# } }
        stage.simplex.complete(40, path: "ann 40.pdf", cryptoArguments: nil)
        let location = try await core.location(of: FileID(1040))
        #expect(location?.path == stage.folder.path + "/ann 40.pdf")
        #expect(stage.simplex.count("/_get chat #3(_support:9) around=40") >= 1)
        await core.shutDown()
    }

    @Test func newScopeIsWalkedFromItsStart() async throws {
        let stage = try Self.stage()
        let core = try await stage.open()
        #expect(try await eventually { try await names(core).count == 73 })
        // The first message went to another client of the core.
        stage.simplex.change {
            $0.history.append(ScriptedMessage(id: 90, chat: "#3(_support:12)", name: "missed.pdf"))
        }
        stage.simplex.tellNew(ScriptedMessage(id: 91, chat: "#3(_support:12)", name: "told.pdf"))
        #expect(try await eventually { try await names(core).isSuperset(of: ["missed.pdf", "told.pdf"]) })
        await core.shutDown()
    }
}
