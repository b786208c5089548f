import Base
import ChatCore
import Namespace
import Testing

@Suite("Drafts in the tree")
struct DraftNodeTests {
    private typealias Fixture = NamespaceFixture

    @Test("a sent draft keeps name, number and time")
    func becomesItem() throws {
        let fixture = try Fixture()
        let name = EntryName("e\u{301}t\u{E9} .txt ")
        let draft = try fixture.names.show(draft: DraftID(7), named: name, in: fixture.folder(Fixture.alice))
        var item = Fixture.item(50, "\u{E9}t\u{E9} .txt")
        item.direction = .sent
        let time = Timestamp(seconds: 1_234_567_890)
        _ = try fixture.names.draft(DraftID(7), became: item, named: name, modified: time)
        let node = try #require(fixture.names.node(of: ItemID(50)))
        #expect(node.id == draft.id && node.name == name && node.modified == time)
        #expect(fixture.names.node(of: DraftID(7)) == nil)
        try fixture.remount()
        _ = try fixture.names.show([item])
        let again = try #require(fixture.names.node(of: ItemID(50)))
        #expect(again.id == draft.id && again.name == name && again.modified == time)
    }

    @Test("an early shown message takes the draft's name")
    func knownTooEarly() throws {
        let fixture = try Fixture()
        let draft = try fixture.names.show(
            draft: DraftID(7), named: EntryName("a.txt"), in: fixture.folder(Fixture.alice))
        _ = try fixture.names.show([Fixture.item(50, "a.txt")])
        #expect(fixture.list() == ["a.txt", "a (2).txt"])
        let changes = try fixture.names.draft(
            DraftID(7), became: Fixture.item(50, "a.txt"), named: EntryName("a.txt"),
            modified: Timestamp(seconds: 1))
        #expect(changes.count == 2)
        #expect(fixture.list() == ["a.txt"])
        #expect(fixture.names.node(of: ItemID(50))?.id == draft.id)
    }

    /// A power cut reverted the outbox's record of the send, while the name's transfer was durable.
    @Test("a repeated draft leaves the message its name")
    func sentBefore() throws {
        let fixture = try Fixture()
        let (folder, name) = (fixture.folder(Fixture.alice), EntryName("a.txt"))
        let first = try fixture.names.show(draft: DraftID(7), named: name, in: folder)
        let item = Fixture.item(50, "a.txt")
        _ = try fixture.names.draft(
            DraftID(7), became: item, named: name, modified: Timestamp(seconds: 1))
        try fixture.remount()
        _ = try fixture.names.show([item])
        let again = try fixture.names.show(
            draft: DraftID(7), namedLike: name, in: fixture.folder(Fixture.alice))
        #expect(fixture.list() == ["a.txt", "a (2).txt"])
        let changes = try fixture.names.draft(
            DraftID(7), became: item, named: name, modified: Timestamp(seconds: 2))
        #expect(changes.count == 2)
        if case .vanished(let id, _, _) = changes[0] { #expect(id == again.id) } else { Issue.record() }
        #expect(fixture.list() == ["a.txt"] && fixture.names.node(of: DraftID(7)) == nil)
        try fixture.remount()
        _ = try fixture.names.show([item])
        #expect(fixture.list() == ["a.txt"])
        #expect(fixture.names.node(of: ItemID(50))?.id == first.id)
    }

    @Test("only names in use are refused")
    func namesOfWriters() throws {
        let fixture = try Fixture()
        let folder = fixture.folder(Fixture.alice)
        _ = try fixture.names.show([Fixture.item(1, "a.txt"), Fixture.item(2, "b.txt")])
        _ = try fixture.names.remove([ItemID(1)])
        let node = try fixture.names.show(draft: DraftID(1), named: EntryName("a.txt"), in: folder)
        #expect(node.name == EntryName("a.txt"))
        #expect(throws: NamespaceError.self) {
            try fixture.names.show(draft: DraftID(2), named: EntryName("b.txt"), in: folder)
        }
        #expect(fixture.names.node(of: DraftID(2)) == nil)
    }

    @Test("concurrent free names are distinct")
    func freeNamesAtOnce() async throws {
        let fixture = try Fixture()
        let (names, folder) = (fixture.names, fixture.folder(Fixture.alice))
        try await withThrowingTaskGroup { group in
            for number in Int64(1)...40 {
                group.addTask {
                    let name = EntryName("a.txt")
                    if number.isMultiple(of: 2) {
                        try names.show(draft: DraftID(number), namedLike: name, in: folder)
                    } else {
                        try names.show(recovered: DraftID(number), named: name)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(Set(fixture.list()).count == 20)
        #expect(fixture.names.children(of: .recovered, after: nil, count: .max).count == 20)
    }

    @Test("rename replaces the target and frees the name")
    func rename() throws {
        let fixture = try Fixture()
        let folder = fixture.folder(Fixture.alice)
        let temporary = try fixture.names.show(draft: DraftID(1), named: EntryName(".a.XyZ"), in: folder)
        let old = try fixture.names.show(draft: DraftID(2), named: EntryName("a"), in: folder)
        #expect(throws: NamespaceError.self) {
            try fixture.names.rename(draft: DraftID(1), to: EntryName("a"))
        }
        try fixture.names.rename(draft: DraftID(1), to: EntryName("a"), replacing: old)
        #expect(fixture.names.child(EntryName("a"), of: folder)?.id == temporary.id)
        #expect(fixture.names.node(old.id) == nil)
        #expect(fixture.names.child(EntryName(".a.XyZ"), of: folder) == nil)
        try fixture.remount()
        let again = try fixture.names.show(
            draft: DraftID(1), named: EntryName("a"), in: fixture.folder(Fixture.alice))
        #expect(again.id == temporary.id)
    }

    @Test("recovered drafts keep their names")
    func recovered() throws {
        let fixture = try Fixture()
        _ = try fixture.names.show(
            draft: DraftID(1), named: EntryName("a"), in: fixture.folder(Fixture.alice))
        try fixture.remount()
        let first = try fixture.names.show(recovered: DraftID(1), named: EntryName("a"))
        let second = try fixture.names.show(recovered: DraftID(2), named: EntryName("a"))
        #expect(first.folder == .recovered && first.name == EntryName("a"))
        #expect(second.name == EntryName("a (2)"))
        #expect(!fixture.list().contains("a"))
        try fixture.remount()
        #expect(try fixture.names.show(recovered: DraftID(2), named: EntryName("a")).id == second.id)
    }

    @Test("a dropped draft frees its name")
    func dropped() throws {
        let fixture = try Fixture()
        let folder = fixture.folder(Fixture.alice)
        _ = try fixture.names.show(draft: DraftID(1), named: EntryName("a"), in: folder)
        _ = try fixture.names.remove(draft: DraftID(1))
        #expect(try fixture.names.remove(draft: DraftID(1)) == nil)
        _ = try fixture.names.show([Fixture.item(1, "a")])
        #expect(fixture.list() == ["a"])
    }
}
