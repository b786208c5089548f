import Base
import ChatCore
import ScriptedCore
import Testing

@testable import OfficialCore

@Suite("Rename, leave and deletion at an official core")
struct ChatManagementTests {
    private func opened(
        _ ownership: OfficialCoreSettings.Ownership = .attached, deliveryTimeout: Duration = .seconds(60)
    ) async throws -> (Stage, OfficialCore) {
        let stage = try Stage { state in
            state.contacts = [1: "bob", 2: "carol"]
            state.groups = [5: "club"]
            state.history.append([
                ScriptedMessage(id: 1, contact: 1, name: "a.jpg"),
                ScriptedMessage(id: 2, chat: "#5", name: "b.jpg"),
            ])
        }
        var settings = stage.settings(ownership)
        settings.deliveryTimeout = deliveryTimeout
        let core = try await OfficialCore.open(stage.transport, settings)
        for (item, chat) in [(ItemID(1), ChatReference.direct(1)), (ItemID(2), .group(5))] {
            #expect(await eventually { (try? await core.item(item, in: chat)) != nil })
        }
        return (stage, core)
    }

    private func chat(_ reference: ChatReference, _ core: OfficialCore) async throws -> Chat? {
        try await core.chats().first { $0.reference == reference }
    }

    @Test(
        "an alias is unique and names the folder",
        arguments: [true, false])
    func renaming(isContact: Bool) async throws {
        let (stage, core) = try await opened()
        let reference = isContact ? ChatReference.direct(1) : .group(5)
        #expect(try await chat(reference, core)?.isNamedByUser == false)
        let events = core.events()
        try await core.renameChat(reference, to: "Old friends")
        let renamed = try await chat(reference, core)
        #expect(renamed?.displayName == "Old friends" && renamed?.isNamedByUser == true)
        // A contact's own display name may repeat; an alias must be unique.
        try await core.renameChat(.direct(2), to: "bob")
        for name in ["bob", "", "a\nb", "@x"] {
            await #expect(throws: ChatError.self) { try await core.renameChat(reference, to: name) }
        }
        #expect(stage.simplex.count("/_set alias ") == 2)
        await core.shutDown()
        var told: [String] = []
        for await case .chatUpdated(let chat) in events { told.append(chat.displayName) }
        #expect(told == ["Old friends", "bob"])
    }

    @Test("an older chat list does not undo changes")
    func outdated() async throws {
        let (stage, core) = try await opened()
        let (asked, isReleased) = (Lock(false), Lock(false))
        stage.after("/_get chats ") {
            asked.withLock { $0 = true }
            _ = await eventually { isReleased.withLock { $0 } }
        }
        core.reconciliation.requestWhole()
        #expect(await eventually { asked.withLock { $0 } })
        let events = core.events()
        try await core.renameChat(.direct(1), to: "Old friend")
        try await core.deleteChat(.direct(2))
        isReleased.withLock { $0 = true }
        // The next request starts after the first list was stored.
        let before = stage.simplex.count("/_get chats ")
        core.reconciliation.requestWhole()
        #expect(await eventually { stage.simplex.count("/_get chats ") > before })
        await core.shutDown()
        var told: [String] = []
        for await event in events {
            switch event {
            case .chatUpdated(let chat): told.append(chat.displayName)
            case .chatRemoved(let chat): told.append("-\(chat)")
            default: break
            }
        }
        #expect(told == ["Old friend", "-\(ChatReference.direct(2))"])
    }

    @Test("a single command sees the current chats")
    func oneLook() async throws {
        let (stage, core) = try await opened()
        await core.shutDown()
        stage.simplex.change { state in
            state.aliases["@1"] = "Robert"
            state.contacts[2] = nil
        }
        stage.restart()
        var settings = stage.settings()
        settings.comparesFirst = true
        let next = try await OfficialCore.open(stage.transport, settings)
        #expect(try await next.chats().map(\.displayName).sorted() == ["Robert", "club"])
        await next.shutDown()
    }

    @Test("a chat that was left keeps its files", arguments: [true, false])
    func leaving(isContact: Bool) async throws {
        let (stage, core) = try await opened()
        let reference = isContact ? ChatReference.direct(1) : .group(5)
        try await core.leaveChat(reference)
        #expect(try await chat(reference, core)?.sendingRefused != nil)
        #expect(try await core.items(of: reference, before: nil, count: 10).count == 1)
        let command = isContact ? "/_delete @1 entity notify=on" : "/_leave #5"
        #expect(stage.simplex.count(command) == 1)
        // Group members are notified once.
        await #expect {
            try await core.leaveChat(reference)
        } throws: {
            ($0 as? ChatError)?.code == .invalidCommand
        }
        #expect(stage.simplex.count(command) == 1)
        let events = core.events()
        try await core.deleteChat(reference)
        #expect(stage.simplex.count("/_leave ") == (isContact ? 0 : 1))
        #expect(try await chat(reference, core) == nil)
        await core.shutDown()
        var isRemoved = false
        for await case .chatRemoved(reference) in events { isRemoved = true }
        #expect(isRemoved)
    }

    @Test("a left contact refuses sending, with one event", arguments: [1, 2])
    func end(contact: Int64) async throws {
        let (_, core) = try await opened()
        let events = core.events()
        try await core.leaveChat(.direct(contact))
        await core.shutDown()
        var refusals: [String?] = []
        for await case .chatUpdated(let chat) in events { refusals.append(chat.sendingRefused) }
        #expect(refusals.count == 1 && refusals.first != .some(nil))
    }

    /// The number of queries for undelivered messages.
    private func asked(_ stage: Stage) -> Int {
        stage.simplex.count("/sql agent SELECT coalesce(count(*), 0) FROM snd_message_deliveries")
    }

    @Test("an own core ends after its notifications")
    func telling() async throws {
        let (stage, core) = try await opened(.library)
        stage.simplex.change { $0.undelivered = 2 }
        try await core.leaveChat(.group(5))
        try await core.deleteChat(.direct(1))
        let isOver = Lock(false)
        let end = Task {
            await core.shutDown()
            isOver.withLock { $0 = true }
        }
        #expect(await eventually { asked(stage) > 2 })
        #expect(!isOver.withLock { $0 })
        stage.simplex.change { $0.undelivered = 0 }
        await end.value
        let last = try #require(stage.simplex.commands.last { $0.hasPrefix("/sql agent ") })
        #expect(
            last.hasSuffix(
                "(snd_message_delivery_id BETWEEN 1 AND 1 OR snd_message_delivery_id BETWEEN 2 AND 2)"))
    }

    @Test("a failed command's notifications delay the end")
    func halfWay() async throws {
        let (stage, core) = try await opened(.library, deliveryTimeout: .zero)
        stage.simplex.change { state in
            state.undelivered = 1
            state.refusals["/_delete #5"] = #"{"type":"error","errorType":{"type":"groupUserRole"}}"#
        }
        await #expect(throws: ChatError.self) { try await core.deleteChat(.group(5)) }
        #expect(stage.simplex.count("/_leave #5") == 1)
        await core.shutDown()
        #expect(asked(stage) == 1)
    }

    @Test("the end does not wait without need")
    func notWaiting() async throws {
        for (ownership, leaves, times) in [
            (OfficialCoreSettings.Ownership.library, true, 1), (.attached, true, 0), (.program, false, 0),
        ] {
            let (stage, core) = try await opened(ownership, deliveryTimeout: .zero)
            stage.simplex.change { $0.undelivered = 1 }
            if leaves {
                try await core.leaveChat(.group(5))
            } else {
                try await core.renameChat(.group(5), to: "x")
            }
            await core.shutDown()
            #expect(asked(stage) == times)
        }
    }

    @Test("a core without database queries still ends")
    func silent() async throws {
        let (stage, core) = try await opened(.library)
        stage.simplex.change { $0.answersQuestions = false }
        try await core.leaveChat(.group(5))
        await core.shutDown()
        #expect(stage.simplex.count("/_leave ") == 1 && asked(stage) == 0)
    }

    @Test("a deletion removes files and leaves a group")
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

    @Test("a refused deletion keeps the chat")
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

    @Test("a chat file's number cancels no link's file")
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
