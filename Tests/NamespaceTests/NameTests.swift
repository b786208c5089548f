import Base
import ChatCore
import Namespace
import Testing

@Suite("Names of entries")
struct NameTests {
    private typealias Fixture = NamespaceFixture

    @Test("equal names get permanent numbers")
    func numbers() throws {
        let fixture = try Fixture()
        _ = try fixture.names.show([1, 2, 3].map { Fixture.item($0, "report.pdf") })
        #expect(fixture.list() == ["report.pdf", "report (2).pdf", "report (3).pdf"])
        let second = try #require(fixture.names.node(of: ItemID(2)))
        _ = try fixture.names.remove([ItemID(1)])
        _ = try fixture.names.show([Fixture.item(4, "report.pdf")])
        #expect(fixture.list() == ["report (2).pdf", "report (3).pdf", "report (4).pdf"])
        #expect(fixture.names.node(of: ItemID(2))?.id == second.id)
    }

    @Test("remounts keep names and inode numbers")
    func remount() throws {
        let fixture = try Fixture()
        let items = (1...20).map { Fixture.item($0, "photo.jpg") }
        _ = try fixture.names.show(items)
        let before = items.map { fixture.names.node(of: $0.id).map { [$0.name.description, "\($0.id)"] } }
        let folders = [Fixture.alice, Fixture.bob, Fixture.notes].map(fixture.folder)
        try fixture.remount()
        _ = try fixture.names.show(items.reversed())
        let after = items.map { fixture.names.node(of: $0.id).map { [$0.name.description, "\($0.id)"] } }
        #expect(before == after)
        #expect(!before.contains(nil))
        #expect([Fixture.alice, Fixture.bob, Fixture.notes].map(fixture.folder) == folders)
    }

    @Test(
        "loading order does not affect names"
    )
    func lookedIntoLater() throws {
        let fixture = try Fixture()
        let items = (1...20).map {
            Fixture.item($0, "photo.jpg", in: $0 % 2 == 0 ? Fixture.alice : Fixture.bob)
        }
        for item in items { _ = try fixture.names.show([item]) }
        func shown() -> [String?] {
            items.map { fixture.names.node(of: $0.id).map { "\($0.folder) \($0.id) \($0.name)" } }
        }
        let before = shown()
        try fixture.remount()
        #expect(!fixture.names.isComplete(fixture.folder(Fixture.bob)))
        // An update of one before its chat is loaded, and a new one.
        _ = try fixture.names.show([items[7], Fixture.item(21, "photo.jpg")])
        for chat in [Fixture.bob, Fixture.alice] {
            try fixture.names.complete(chat, with: items.filter { $0.chat == chat })
            #expect(fixture.names.isComplete(fixture.folder(chat)))
        }
        #expect(shown() == before)
        #expect(!before.contains(nil))
        #expect(fixture.names.node(of: ItemID(21))?.name.description == "photo (11).jpg")
    }

    @Test("deleted files' names and numbers are not reused")
    func buried() throws {
        let fixture = try Fixture()
        _ = try fixture.names.show([Fixture.item(1, "a.txt"), Fixture.item(2, "b.txt")])
        let old = try #require(fixture.names.node(of: ItemID(2))).id
        _ = try fixture.names.remove([ItemID(1)])
        try fixture.remount()
        // The core deleted item 2.
        try fixture.names.complete(Fixture.alice, with: [])
        _ = try fixture.names.show([Fixture.item(3, "a.txt"), Fixture.item(4, "b.txt")])
        #expect(fixture.list() == ["a (2).txt", "b (2).txt"])
        #expect(fixture.names.node(of: ItemID(4)).map { $0.id > old } == true)
    }

    @Test(
        "a deleted chat returns with its number"
    )
    func chatGone() throws {
        let fixture = try Fixture()
        _ = try fixture.names.show([Fixture.item(1, "a.txt", in: Fixture.bob), Fixture.item(2, "a.txt")])
        let number = fixture.folder(Fixture.bob)
        fixture.names = try Namespace(path: fixture.folder + "/names.sqlite")
        _ = try fixture.names.show([Fixture.chat(Fixture.alice, "Alice")])
        try fixture.names.removeUnseen()
        try fixture.names.complete(Fixture.alice, with: [Fixture.item(2, "a.txt")])
        #expect(fixture.list() == ["a.txt"])
        try fixture.showChats()
        #expect(fixture.folder(Fixture.bob) == number)
        try fixture.names.complete(Fixture.bob, with: [Fixture.item(3, "a.txt", in: Fixture.bob)])
        #expect(fixture.list(Fixture.bob) == ["a (2).txt"])
    }

    @Test(
        "received names are sanitised",
        arguments: [
            ("../../etc/passwd", "passwd"), ("..", "file-1"), (".bashrc", "bashrc"),
            ("a\u{0}b\n.txt", "ab.txt"),
            ("x\u{202E}gpj.exe", "xgpj.exe"), ("name.txt ", "name.txt"), ("e\u{301}.txt", "\u{E9}.txt"),
            ("", "file-1"), ("\u{200B}a\u{AD}.t\u{3164}xt", "a.txt"), ("-rf", "_rf"), ("a\u{2215}b", "a_b"),
        ])
    func sanitised(_ sent: String, _ shown: String) throws {
        let fixture = try Fixture()
        _ = try fixture.names.show([Fixture.item(1, sent)])
        #expect(fixture.names.node(of: ItemID(1)).map { $0.name.bytes } == Array(shown.utf8))
    }

    @Test("names of 255 bytes stay distinct")
    func long() throws {
        let fixture = try Fixture()
        let name = String(repeating: "\u{1F600}", count: 62) + "abc.jpg"
        _ = try fixture.names.show([1, 2, 3].map { Fixture.item($0, name) })
        let shown = fixture.names.children(of: fixture.folder(Fixture.alice), after: nil, count: 10)
        #expect(Set(shown.map(\.name)).count == 3)
        for node in shown {
            #expect(node.name.bytes.count <= 255 && node.name.isValidUTF8)
            #expect(node.name.description.hasSuffix(".jpg"))
        }
    }

    @Test("images without extension get one")
    func extensions() throws {
        let fixture = try Fixture()
        _ = try fixture.names.show([
            Fixture.item(1, "IMG_2031", kind: .image(preview: "")),
            Fixture.item(2, "pic.png", kind: .image(preview: "")),
            Fixture.item(3, "note", kind: .voice(seconds: 3)),
            Fixture.item(4, "clip", kind: .video(preview: "", seconds: 3)),
            Fixture.item(5, "README"),
        ])
        #expect(fixture.list() == ["IMG_2031.jpg", "pic.png", "note.m4a", "clip.mp4", "README"])
    }

    @Test("contacts named like folders get a number")
    func reservedRoots() throws {
        let fixture = try Fixture()
        _ = try fixture.names.show([
            Fixture.chat(.direct(10), "Saved notes"), Fixture.chat(.direct(11), "Links"),
            Fixture.chat(.direct(12), ".chatfs"), Fixture.chat(.group(13), "Alice"),
            Fixture.chat(.direct(14), "/"), Fixture.chat(.links, "whatever"),
        ])
        let names = [
            ChatReference.direct(10), .direct(11), .direct(12), .group(13), .direct(14), Fixture.notes,
            .links,
        ].map {
            fixture.names.node(of: $0)?.name.description
        }
        #expect(
            names == [
                "Saved notes (2)", "Links (2)", "_chatfs", "Alice (2)", "_", "Saved notes", "Links",
            ])
    }

    @Test("invisible characters do not imitate contacts")
    func posing() throws {
        let fixture = try Fixture()
        let names = ["x/Alice", "Al\u{200B}ice", "\u{2215}Alice", "\u{3164}"]
        let chats = (10..<14).map { ChatReference.direct($0) }
        _ = try fixture.names.show(zip(chats, names).map { Fixture.chat($0, $1) })
        let shown = chats.map { fixture.names.node(of: $0)?.name.description }
        #expect(shown == ["x_Alice", "Alice (2)", "_Alice", "contact-13"])
    }

    @Test("names of older versions are kept")
    func shownBefore() throws {
        let fixture = try Fixture()
        _ = try fixture.names.show([Fixture.item(1, "a.txt")])
        try fixture.changeIndex { connection in
            for (old, new) in [("a.txt", "-a\u{2215}\u{200B}.txt"), ("Alice", "-Al\u{200B}")] {
                try connection.execute(
                    "UPDATE node SET name = ? WHERE name = ?", Array(new.utf8), Array(old.utf8))
            }
        }
        try fixture.remount()
        _ = try fixture.names.show([Fixture.item(1, "a.txt")])
        #expect(fixture.list() == ["-a\u{2215}\u{200B}.txt"])
        #expect(fixture.names.node(of: Fixture.alice)?.name.description == "-Al\u{200B}")
    }

    @Test("the user's alias names the folder if free")
    func namedByUser() throws {
        let fixture = try Fixture()
        var chat = Fixture.chat(Fixture.alice, "Alicia")
        chat.isNamedByUser = true
        let folder = try #require(fixture.names.node(of: Fixture.alice))
        let changes = try fixture.names.show([chat])
        #expect(changes.count == 2)
        #expect(fixture.names.child(EntryName("Alicia"), of: .root)?.id == folder.id)
        #expect(fixture.names.child(folder.name, of: .root) == nil)
        for taken in ["Saved notes", "Links"] {
            chat.displayName = taken
            _ = try fixture.names.show([chat])
            #expect(fixture.names.node(of: Fixture.alice)?.name.description == "Alicia")
        }
        #expect(try fixture.names.show([chat]).count == 1)
    }

    @Test("a renamed contact keeps its folder")
    func renamedContact() throws {
        let fixture = try Fixture()
        _ = try fixture.names.show([Fixture.chat(Fixture.alice, "Alicia")])
        #expect(fixture.names.node(of: Fixture.alice)?.name.description == "Alice")
    }
}
