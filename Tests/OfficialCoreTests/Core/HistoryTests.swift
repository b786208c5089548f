import ChatCore
import ScriptedCore
import Testing

@testable import OfficialCore

@Suite("History walks")
struct HistoryTests {
    private static func history(_ count: Int64, contact: Int64 = 1) -> [ScriptedMessage] {
        (1...count).map { ScriptedMessage(id: $0, contact: contact, name: "\($0).jpg") }
    }

    private func ids(_ core: OfficialCore, _ chat: Int64 = 1) async throws -> [Int64] {
        try await core.items(of: .direct(chat), before: nil, count: 10_000).map(\.id.rawValue)
    }

    @Test func historyArrivesPageByPage() async throws {
        let stage = try Stage { state in
            state.contacts[2] = "carol"
            state.history.append(
                (1...430).map {
                    ScriptedMessage(id: $0, contact: $0 % 2 + 1, name: "\($0).jpg")
                })
        }
        let core = try await stage.open()
        #expect(try await eventually { try await ids(core).count == 215 })
        #expect(try await eventually { try await ids(core, 2).count == 215 })
        #expect(try await ids(core).first == 430)
        #expect(stage.simplex.count("/_get chat @1 count=50") >= 1)
        await core.shutDown()
    }

    @Test func nextMountListsFromIndex() async throws {
        let stage = try Stage { $0.history.append(Self.history(120)) }
        let first = try await stage.open()
        #expect(try await eventually { try await ids(first).count == 120 })
        await first.shutDown()
        stage.restart()
        stage.simplex.change { $0.silent = ["/_get", "/sql"] }
        let second = try await OfficialCore.open(stage.transport, stage.impatient)
        #expect(try await second.chats().map(\.displayName) == ["bob"])
        #expect(try await ids(second).count == 120)
        await second.shutDown()
    }

    @Test func interruptedWalkContinues() async throws {
        let stage = try Stage { $0.history.append(Self.history(400)) }
        stage.simplex.change { $0.silent = ["/_get chat @1 before=251"] }
        let first = try await stage.open()
        #expect(try await eventually { try await ids(first).count == 150 })
        await first.shutDown()
        stage.restart()
        stage.simplex.change { $0.silent = [] }
        let second = try await stage.open()
        #expect(try await eventually { try await ids(second).count == 400 })
        // The walk does not reach items deleted above its anchor; a later walk finds them.
        let pages = stage.simplex.commands.filter { $0.hasPrefix("/_get chat @1 ") }
        #expect(pages.first == "/_get chat @1 before=251 count=50")
        await second.shutDown()
    }

    @Test func deletedAnchorDoesNotEndWalk() async throws {
        let stage = try Stage { $0.history.append(Self.history(200)) }
        stage.simplex.change { $0.silent = ["/_get chat @1 before=101"] }
        let first = try await stage.open()
        #expect(try await eventually { try await ids(first).count == 100 })
        await first.shutDown()
        stage.restart()
        stage.simplex.change { state in
            state.silent = []
            state.history.remove(101)
        }
        let second = try await stage.open()
        #expect(try await eventually { try await ids(second).count == 199 })
        await second.shutDown()
    }

    /// The item is deleted while its first page is on the way and after the comparison.
    @Test func unseenDeletionDuringWalkIsFound() async throws {
        let stage = try Stage { $0.history.append(Self.history(20)) }
        stage.after("/_get chat @1 count=50") { [simplex = stage.simplex] in
            simplex.change { _ = $0.history.remove(7) }
            _ = await eventually { simplex.count("/sql chat SELECT coalesce(i.contact_id") > 0 }
        }
        var settings = stage.settings(.library)
        // No later comparison repairs the result.
        settings.reconcileInterval = .seconds(600)
        let core = try await OfficialCore.open(stage.transport, settings)
        #expect(try await eventually { try await ids(core).count == 19 })
        #expect(try await !ids(core).contains(7))
        await core.shutDown()
    }

    @Test func unknownPageDoesNotEndHistory() async throws {
        let stage = try Stage { $0.history.append(Self.history(200)) }
        let first = try await stage.open()
        #expect(try await eventually { try await ids(first).count == 200 })
        await first.shutDown()
        stage.restart()
        // A later version renames `itemId`, so its page has no known item.
        stage.rewriting("/_get chat @1 before=") { $0.replacing("\"itemId\"", with: "\"itemNumber\"") }
        stage.simplex.change { $0.history.remove(190) }
        let second = try await stage.open()
        #expect(await eventually { stage.simplex.count("/_get chat @1 before=") > 0 })
        // The walk of another chat follows.
        stage.simplex.change { state in
            state.contacts[2] = "carol"
            state.history.append(.init(id: 201, contact: 2, name: "next.bin"))
        }
        #expect(await eventually { (try? await ids(second, 2)) == [201] })
        let left = try await ids(second)
        #expect(left.count >= 199 && left.last == 1)
        await second.shutDown()
    }

    @Test func messageDuringOutageIsFound() async throws {
        let stage = try Stage { $0.history.append(Self.history(60)) }
        let core = try await stage.open()
        #expect(try await eventually { try await ids(core).count == 60 })
        stage.transport.disconnect()
        stage.simplex.change { state in
            state.history.remove(7)
            state.history.append(
                (61...180).map {
                    ScriptedMessage(id: $0, contact: 1, name: "\($0).jpg")
                })
        }
        stage.transport.connect()
        #expect(try await eventually { try await ids(core).count == 179 })
        #expect(try await !ids(core).contains(7))
        await core.shutDown()
    }

    @Test func otherClientsMessageIsFound() async throws {
        let stage = try Stage { $0.history.append(Self.history(3)) }
        let core = try await stage.open()
        #expect(try await eventually { try await ids(core).count == 3 })
        stage.simplex.change { $0.history.append(.init(id: 4, contact: 1, name: "taken.jpg")) }
        #expect(try await eventually { try await ids(core).first == 4 })
        await core.shutDown()
    }

    @Test func otherClientsDeletionIsFound() async throws {
        let stage = try Stage { $0.history.append(Self.history(300)) }
        let core = try await stage.open()
        #expect(try await eventually { try await ids(core).count == 300 })
        stage.simplex.change { state in for id in [300, 200] { state.history.remove(Int64(id)) } }
        #expect(try await eventually { try await ids(core).count == 298 })
        #expect(try await ids(core).first == 299)
        await core.shutDown()
    }

    @Test func withoutQueriesHistoryIsWalkedAgain() async throws {
        let stage = try Stage { state in
            state.history.append(Self.history(80))
            state.answersQuestions = false
        }
        let core = try await stage.open()
        #expect(try await eventually { try await ids(core).count == 80 })
        stage.transport.disconnect()
        stage.simplex.change { $0.history.remove(3) }
        stage.transport.connect()
        #expect(try await eventually { try await ids(core).count == 79 })
        await core.shutDown()
    }

    @Test func contactRenameIsReported() async throws {
        let stage = try Stage()
        let core = try await stage.open()
        stage.simplex.change { $0.contacts[1] = "Robert" }
        #expect(try await eventually { try await core.chats().first?.displayName == "Robert" })
        await core.shutDown()
    }

    @Test func onlyOneProcessOpensProfile() async throws {
        let stage = try Stage()
        let core = try await stage.open()
        await #expect(throws: ChatError.self) { _ = try await stage.open() }
        await core.shutDown()
    }

    @Test func indexListsHundredThousandFiles() async throws {
        let stage = try Stage { state in
            for contact in 1...200 { state.contacts[Int64(contact)] = "contact \(contact)" }
        }
        let first = try await stage.open()
        try await blocking.run {
            try first.index.commit { change in
                for id in 1...100_000 {
                    let chat = ChatReference.direct(Int64(id % 200 + 1))
                    let file = ChatFile(
                        id: FileID(Int64(id)), name: "IMG_\(id).jpg", size: 250_000, status: .rcvComplete,
                        transport: .xftp, source: .init(path: "/files/IMG_\(id).jpg", arguments: nil))
                    let item = ChatItem(
                        id: ItemID(Int64(id)), chat: chat, direction: .received, sender: "bob",
                        time: .init(seconds: Int64(id)), content: .init(kind: .image(preview: "")), file: file
                    )
                    try change.tables.items.put(item, file, reference: chat.description)
                }
            }
        }
        await first.shutDown()
        stage.restart()
        stage.simplex.change { $0.silent = ["/_get", "/sql"] }
        let start = ContinuousClock.now
        let second = try await OfficialCore.open(stage.transport, stage.impatient)
        var listed = 0
        for chat in try await second.chats() {
            listed += try await second.items(of: chat.reference, before: nil, count: 1000).count
        }
        print("100,000 files in 200 chats listed in \(ContinuousClock.now - start)")
        #expect(listed == 100_000)
        await second.shutDown()
    }
}
