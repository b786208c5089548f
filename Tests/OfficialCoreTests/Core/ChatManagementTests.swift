import Base
import ChatCore
import ScriptedCore
import Testing

@testable import OfficialCore

@Suite("Chats of an official core are renamed, left and deleted")
struct ChatManagementTests {
    private func opened() async throws -> (Stage, OfficialCore) {
        let stage = try Stage { state in
            state.contacts = [1: "bob", 2: "carol"]
            state.groups = [5: "club"]
            state.history.append([
                ScriptedMessage(id: 1, contact: 1, name: "a.jpg"),
                ScriptedMessage(id: 2, chat: "#5", name: "b.jpg"),
            ])
        }
        let core = try await stage.open()
        for (item, chat) in [(ItemID(1), ChatReference.direct(1)), (ItemID(2), .group(5))] {
            #expect(await eventually { (try? await core.item(item, in: chat)) != nil })
        }
        return (stage, core)
    }

    private func chat(_ reference: ChatReference, _ core: OfficialCore) async throws -> Chat? {
        try await core.chats().first { $0.reference == reference }
    }

    @Test(
        "a name that the user gave is the one of its folder, and no other chat has it",
        arguments: [true, false])
    func renaming(isContact: Bool) async throws {
        let (stage, core) = try await opened()
        let reference = isContact ? ChatReference.direct(1) : .group(5)
        #expect(try await chat(reference, core)?.isNamedByUser == false)
        let events = core.events()
        try await core.renameChat(reference, to: "Old friends")
        let renamed = try await chat(reference, core)
        #expect(renamed?.displayName == "Old friends" && renamed?.isNamedByUser == true)
        for name in ["carol", "", "a\nb", "@x"] {
            await #expect(throws: ChatError.self) { try await core.renameChat(reference, to: name) }
        }
        #expect(stage.simplex.count("/_set alias ") == 1)
        await core.shutDown()
        var told: [String] = []
        for await case .chatUpdated(let chat) in events { told.append(chat.displayName) }
        #expect(told == ["Old friends"])
    }

    @Test("what was left takes nothing more, and keeps its files", arguments: [true, false])
    func leaving(isContact: Bool) async throws {
        let (stage, core) = try await opened()
        let reference = isContact ? ChatReference.direct(1) : .group(5)
        try await core.leaveChat(reference)
        #expect(try await chat(reference, core)?.sendingRefused != nil)
        #expect(try await core.items(of: reference, before: nil, count: 10).count == 1)
        #expect(stage.simplex.commands.contains(isContact ? "/_delete @1 entity notify=on" : "/_leave #5"))
        await core.shutDown()
    }

    @Test("what is deleted is gone with its files; a group is left first, so that it stays for the others")
    func deleting() async throws {
        let (stage, core) = try await opened()
        let events = core.events()
        try await core.deleteChat(.direct(1))
        try await core.deleteChat(.group(5))
        #expect(try await core.chats().map(\.reference) == [.direct(2)])
        #expect(
            stage.simplex.commands.filter { $0.hasPrefix("/_leave") || $0.hasPrefix("/_delete") }
                == ["/_delete @1 full notify=on", "/_leave #5", "/_delete #5 full notify=on"])
        await #expect(throws: ChatError.self) { try await core.deleteChat(.direct(1)) }
        await #expect(throws: ChatError.self) { try await core.deleteChat(.notes(1)) }
        await core.shutDown()
        var told: [String] = []
        for await event in events {
            switch event {
            case .chatItemsDeleted(let items, .deleted): told.append("items \(items.count)")
            case .chatRemoved(let chat): told.append("\(chat)")
            default: break
            }
        }
        #expect(told == ["items 1", "@1", "items 1", "#5"])
    }

    @Test("a chat that the core does not let go of stays as it is")
    func refused() async throws {
        let (stage, core) = try await opened()
        stage.simplex.change {
            $0.refusals["/_delete @1"] = #"{"type":"errorStore","storeError":{"type":"x"}}"#
        }
        await #expect(throws: ChatError.self) { try await core.deleteChat(.direct(1)) }
        #expect(try await chat(.direct(1), core)?.sendingRefused == nil)
        #expect(try await core.items(of: .direct(1), before: nil, count: 10).count == 1)
        await core.shutDown()
    }

    @Test("the number of a message's file takes no file back that belongs to no chat")
    func standalone() async throws {
        let (stage, core) = try await opened()
        let file = try #require(try await core.item(ItemID(1), in: .direct(1)).file?.id)
        await #expect(throws: ChatError.self) { try await core.cancelStandaloneFile(file) }
        #expect(stage.simplex.count("/fcancel ") == 0)
        let upload = try await core.uploadStandaloneFile("/a/file.bin")
        try await core.cancelStandaloneFile(upload)
        #expect(stage.simplex.commands.contains("/fcancel \(upload.rawValue)"))
        #expect(stage.simplex.change { $0.standalone }.isEmpty)
        await core.shutDown()
    }
}
