import Base
import ChatCore
import Testing

@testable import Namespace

@Suite("Damaged indexes")
struct DamagedIndexTests {
    private typealias Fixture = NamespaceFixture

    @Test(
        "foreign rows are reported as damage",
        arguments: [
            "UPDATE node SET name = X'' WHERE item = 1", "UPDATE node SET name = X'2E2E' WHERE item = 1",
            "UPDATE node SET name = CAST('a/b' AS BLOB) WHERE item = 1",
            "UPDATE node SET name = X'610062' WHERE item = 1",
            "UPDATE node SET name = zeroblob(256) WHERE item = 1",
            "UPDATE node SET inode = 5 WHERE item = 1",
        ])
    func rows(change: String) throws {
        let fixture = try Fixture()
        _ = try fixture.names.show([Fixture.item(1, "a.txt"), Fixture.item(2, "b.txt")])
        try fixture.changeIndex { try $0.executeScript(change) }
        try fixture.remount()
        let shows = #expect(throws: NamespaceError.self) {
            try fixture.names.show([Fixture.item(1, "a.txt")])
        }
        #expect(shows?.code == .damaged)
        let completes = #expect(throws: NamespaceError.self) {
            try fixture.names.complete(Fixture.alice, with: [Fixture.item(1, "a.txt")])
        }
        #expect(completes?.code == .damaged)
        #expect(fixture.list().isEmpty)
        // Other names are unaffected.
        _ = try fixture.names.show([Fixture.item(2, "b.txt")])
        #expect(fixture.list() == ["b.txt"])
    }

    @Test("an unknown chat kind is damage", arguments: ["", "Alice", "@0", "@x", "!1"])
    func chats(word: String) throws {
        let fixture = try Fixture()
        try fixture.changeIndex { connection in
            try connection.execute("UPDATE node SET chat = ? WHERE chat = ?", word, "@2")
        }
        fixture.names = try Namespace(path: fixture.folder + "/names.sqlite")
        let error = #expect(throws: NamespaceError.self) { try fixture.names.removeUnseen() }
        #expect(error?.code == .damaged)
    }
}
