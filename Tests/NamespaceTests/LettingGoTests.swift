import Base
import ChatCore
import TestSupport
import Testing

@testable import Namespace

@Suite("Eviction and reloading of items")
struct LettingGoTests {
    private typealias Fixture = NamespaceFixture

    /// All entries of the two chats when loaded.
    private func shown(_ fixture: Fixture) -> [String] {
        [Fixture.alice, Fixture.bob].flatMap { chat in
            fixture.names.children(of: fixture.folder(chat), after: nil, count: .max).map { node in
                "\(chat) \(node.id.rawValue) \(node.name) \(node.modified.map { "\($0.seconds)" } ?? "")"
            }
        }
    }

    @Test("reloaded items are unchanged")
    func same() throws {
        let fixture = try Fixture()
        let items = (1...200).map { Fixture.item($0, "photo.jpg") }
        try fixture.names.complete(Fixture.alice, with: items)
        let folder = fixture.folder(Fixture.alice)
        try fixture.names.setModified(
            Timestamp(seconds: 5), of: #require(fixture.names.node(of: ItemID(7))).id)
        let (before, modified) = (shown(fixture), fixture.names.modified(folder: folder))
        let node = try #require(fixture.names.child(EntryName("photo (7).jpg"), of: folder))
        fixture.names.letGo(folder)
        #expect(fixture.names.itemCount == 0)
        #expect(fixture.names.node(node.id) == nil && fixture.names.node(of: FileID(7)) == nil)
        #expect(fixture.names.list(folder, after: nil, count: 10) == nil)
        #expect(fixture.names.periodOfCompleteness(folder) == nil)
        #expect(fixture.names.modified(folder: folder) == modified)
        #expect(try fixture.names.chat(holding: node.id) == Fixture.alice)
        #expect(try fixture.names.id(of: ItemID(7)) == node.id)
        #expect(try fixture.names.chat(holding: NodeID(1_000_000)) == nil)
        try fixture.names.complete(Fixture.alice, with: items)
        #expect(shown(fixture) == before)
        #expect(fixture.names.list(folder, after: nil, count: 500)?.count == 200)
        #expect(fixture.names.periodOfCompleteness(folder) == 2)
    }

    @Test("a draft survives eviction and becomes an item")
    func drafts() throws {
        let fixture = try Fixture()
        let folder = fixture.folder(Fixture.alice)
        let items = [Fixture.item(1, "a"), Fixture.item(2, "b")]
        try fixture.names.complete(Fixture.alice, with: items)
        let draft = try fixture.names.show(draft: DraftID(1), named: EntryName("c"), in: folder)
        fixture.names.letGo(folder)
        #expect(fixture.names.hasDrafts(folder) && fixture.list() == ["c"])
        #expect(throws: NamespaceError.self) {
            try fixture.names.show(draft: DraftID(2), named: EntryName("a"), in: folder)
        }
        #expect(throws: NamespaceError.self) {
            try fixture.names.rename(draft: DraftID(1), to: EntryName("b"))
        }
        let sent = Fixture.item(3, "c")
        _ = try fixture.names.draft(
            DraftID(1), became: sent, named: EntryName("c"), modified: Timestamp(seconds: 9))
        fixture.names.letGo(folder)
        #expect(fixture.list().isEmpty)
        try fixture.names.complete(Fixture.alice, with: items + [sent])
        #expect(fixture.list() == ["a", "b", "c"])
        #expect(
            fixture.names.node(of: ItemID(3)).map { [$0.id == draft.id, $0.modified != nil] } == [true, true])
    }

    @Test(
        "events change evicted items by number")
    func told() throws {
        let fixture = try Fixture()
        let folder = fixture.folder(Fixture.alice)
        try fixture.names.complete(Fixture.alice, with: [Fixture.item(1, "a"), Fixture.item(2, "b")])
        let ids = try [1, 2].map { try #require(fixture.names.node(of: ItemID($0))).id }
        let time = fixture.names.modified(folder: folder)
        fixture.names.letGo(folder)
        let later = Timestamp(seconds: 1_900_000_000)
        guard case .changed(let node)? = try fixture.names.show([Fixture.item(1, "a")], at: later).first
        else {
            Issue.record("it was told as new")
            return
        }
        #expect(node.id == ids[0])
        #expect(fixture.names.modified(folder: folder) == time, "nothing came or went")
        guard case .vanished(let id, let name, in: folder)? = try fixture.names.remove([ItemID(2)]).first
        else {
            Issue.record("its end was not told")
            return
        }
        #expect(id == ids[1] && name == EntryName("b"))
        #expect(fixture.names.modified(folder: folder) > time)
        _ = try fixture.names.show([Fixture.item(3, "b")])
        try fixture.names.complete(Fixture.alice, with: [Fixture.item(1, "a"), Fixture.item(3, "b")])
        #expect(fixture.list() == ["a", "b (2)"])
    }

    /// The core's items and the drafts are the model: when loaded, the tree shows them under permanent names and
    /// numbers.
    @Test("any order of changes keeps names and numbers", arguments: 0..<6)
    func model(seed: UInt64) throws {
        let fixture = try Fixture()
        var random = SeededGenerator(state: seed)
        var items: [ItemID: ChatItem] = [:]
        var drafts: [DraftID: ChatReference] = [:]
        var names: [ItemID: String] = [:]
        var next: Int64 = 1
        let chats = [Fixture.alice, Fixture.bob]
        // Read some steps ago, like a mount that reads the index while it queries the core.
        var known: [ChatReference: KnownNames] = [:]
        func load(_ chat: ChatReference) throws {
            guard !fixture.names.isComplete(fixture.folder(chat)) else { return }
            try fixture.names.complete(
                chat, with: items.values.filter { $0.chat == chat }.sorted { $0.id < $1.id },
                known: known.removeValue(forKey: chat))
        }
        func check() throws {
            for chat in chats { try load(chat) }
            for item in items.values {
                let node = try #require(fixture.names.node(of: item.id))
                let text = "\(node.folder) \(node.id) \(node.name)"
                #expect(names[item.id, default: text] == text)
                names[item.id] = text
            }
            let shown = chats.map { fixture.names.children(of: fixture.folder($0), after: nil, count: .max) }
            #expect(shown.reduce(0) { $0 + $1.count } == items.count + drafts.count)
            for nodes in shown { #expect(Set(nodes.map(\.name)).count == nodes.count) }
        }
        for step in 0..<300 {
            let chat = chats.randomElement(using: &random) ?? Fixture.alice
            if step % 3 == 0 { known[chat] = try fixture.names.knownNames(of: chat) }
            switch Int.random(in: 0..<10, using: &random) {
            case 0...3:
                let item = Fixture.item(
                    next, ["a", "b", "c.txt"].randomElement(using: &random) ?? "", in: chat)
                next += 1
                items[item.id] = item
                _ = try fixture.names.show([item])
            case 4:
                guard let item = items.keys.sorted().randomElement(using: &random) else { continue }
                items[item] = nil
                _ = try fixture.names.remove([item])
            case 5:
                let draft = DraftID(next)
                next += 1
                let folder = fixture.folder(chat)
                let name = EntryName(["a", "b", "d"].randomElement(using: &random) ?? "")
                if (try? fixture.names.show(draft: draft, named: name, in: folder)) != nil {
                    drafts[draft] = chat
                }
            case 6:
                guard let (draft, chat) = drafts.min(by: { $0.key < $1.key }) else { continue }
                let item = Fixture.item(next, "a", in: chat)
                next += 1
                (items[item.id], drafts[draft]) = (item, nil)
                _ = try fixture.names.draft(
                    draft, became: item, named: EntryName("a"), modified: Timestamp(seconds: 1))
            case 7: try load(chat)
            default: fixture.names.letGo(fixture.folder(chat))
            }
            if step % 20 == 0 { try check() }
        }
        try check()
    }

    @Test("outdated name snapshots are read again")
    func stale() throws {
        let fixture = try Fixture()
        try fixture.names.complete(Fixture.alice, with: [Fixture.item(1, "a"), Fixture.item(2, "b")])
        let folder = fixture.folder(Fixture.alice)
        #expect(try fixture.names.knownNames(of: Fixture.alice, limit: 1) == nil)
        fixture.names.letGo(folder)
        let known = try #require(try fixture.names.knownNames(of: Fixture.alice, limit: 2))
        #expect(known.records.count == 2)
        _ = try fixture.names.remove([ItemID(2)])
        try fixture.names.complete(Fixture.alice, with: [Fixture.item(1, "a")], known: known)
        #expect(fixture.list() == ["a"])
        _ = try fixture.names.show([Fixture.item(3, "b")])
        #expect(fixture.list() == ["a", "b (2)"], "the name of a file that went is not given away")
    }
}
