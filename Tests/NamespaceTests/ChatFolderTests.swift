import ChatCore
import Store
import TestSupport
import Testing

@testable import Namespace

/// Names of chat folders, which select chats.
@Suite struct ChatFolderTests {
    private typealias Fixture = NamespaceFixture

    private func index(_ fixture: Fixture) -> FolderIndex {
        FolderIndex(path: fixture.folder + "/names.sqlite", key: nil)
    }

    private func named(_ reference: ChatReference, _ name: String) -> Chat {
        var chat = Fixture.chat(reference, name)
        chat.isNamedByUser = true
        return chat
    }

    @Test func indexPredictsNamesOfTheNextMount() throws {
        let fixture = try Fixture()
        let chats = [
            Fixture.chat(.direct(10), "Bob"), named(.direct(11), "Carol"), Fixture.chat(.group(12), "Carol"),
            Fixture.chat(Fixture.bob, "Robert"), Fixture.chat(Fixture.notes, "Saved notes"),
        ]
        let folders = try index(fixture).folders(of: chats)
        let expected: [ChatReference: String] = [
            .direct(10): "Bob (2)", .direct(11): "Carol", .group(12): "Carol (2)", Fixture.bob: "Bob",
            Fixture.notes: "Saved notes",
        ]
        for (chat, name) in expected { #expect(folders[chat] == name) }
        // A running mount, and the next one.
        _ = try fixture.names.show(chats)
        for (chat, name) in expected { #expect(fixture.names.node(of: chat)?.name.description == name) }
        fixture.names = try Namespace(path: fixture.folder + "/names.sqlite")
        _ = try fixture.names.show(chats.reversed())
        for (chat, name) in expected { #expect(fixture.names.node(of: chat)?.name.description == name) }
    }

    @Test func indexIsCreatedOnlyForChats() throws {
        let folder = try TemporaryFolder()
        let index = FolderIndex(path: folder.path("names.sqlite"), key: nil)
        #expect(try index.folders(of: []).isEmpty)
        #expect(try index.knownFolders(of: [Fixture.chat(.direct(1), "Bob")]).isEmpty)
        #expect(try folder.names() == [])
        #expect(try index.folders(of: [Fixture.chat(.direct(1), "Bob")]) == [.direct(1): "Bob"])
        #expect(try index.knownFolders(of: [Fixture.chat(.direct(2), "Eve")]) == [.direct(1): "Bob"])
    }

    @Test func nameReassignedByUserIsReserved() throws {
        let fixture = try Fixture()
        _ = try fixture.names.show([named(Fixture.bob, "Robert")])
        _ = try fixture.names.show([Fixture.chat(.direct(10), "Bob"), Fixture.chat(.direct(11), "Robert")])
        #expect(fixture.names.node(of: .direct(10))?.name.description == "Bob (2)")
        #expect(fixture.names.node(of: .direct(11))?.name.description == "Robert (2)")
        // The user may reassign it.
        _ = try fixture.names.show([named(Fixture.bob, "Bob")])
        #expect(fixture.names.node(of: Fixture.bob)?.name.description == "Bob")
    }

    @Test func aliasIsReservedBeforeAMount() throws {
        let fixture = try Fixture()
        let renamed = named(Fixture.bob, "Robert")
        #expect(try index(fixture).folders(of: [renamed])[Fixture.bob] == "Bob")
        let stranger = Fixture.chat(.direct(10), "Robert")
        #expect(try index(fixture).folders(of: [stranger, renamed])[.direct(10)] == "Robert (2)")
        _ = try fixture.names.show([stranger, renamed])
        #expect(fixture.names.node(of: Fixture.bob)?.name.description == "Robert")
    }

    @Test(
        arguments: [
            ("@7", "@7 (2)"), ("#3", "#3 (2)"), ("~1", "~1 (2)"), ("@Bob", "@Bob (2)"), ("#Bob", "#Bob (2)"),
            ("#general", "#general"), ("@@Bob", "@@Bob"),
        ])
    func folderNameNeverReadsLikeAReference(name: String, folder: String) throws {
        let fixture = try Fixture()
        _ = try fixture.names.show([Fixture.chat(.direct(10), name)])
        #expect(fixture.names.node(of: .direct(10))?.name.description == folder)
    }

    @Test func signedNameIsReservedForItsOwner() throws {
        let fixture = try Fixture()
        _ = try fixture.names.show([Fixture.chat(.direct(10), "@x"), Fixture.chat(.direct(11), "x")])
        #expect(fixture.names.node(of: .direct(10))?.name.description == "@x")
        #expect(fixture.names.node(of: .direct(11))?.name.description == "x (2)")
    }

    @Test func damagedIndexIsReported() throws {
        let fixture = try Fixture()
        try fixture.changeIndex { try $0.execute("UPDATE node SET name = x'2F' WHERE name = x'426F62'") }
        let error = #expect(throws: NamespaceError.self) {
            try index(fixture).folders(of: [Fixture.chat(Fixture.bob, "Bob")])
        }
        #expect(error?.code == .damaged)
    }
}
