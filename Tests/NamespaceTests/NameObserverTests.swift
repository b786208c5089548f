import Base
import ChatCore
import Testing

@testable import Namespace

@Suite("Name observers")
struct NameObserverTests {
    private typealias Fixture = NamespaceFixture

    /// Records notices as text.
    private final class Notes: Sendable {
        private let notes = Lock<[String]>([])

        func watch(_ names: Namespace) {
            names.watch(
                with: NameObserver(
                    gone: { [notes] paths in
                        notes.withLock {
                            $0 += paths.map { "- " + String(decoding: $0.bytes, as: UTF8.self) }.sorted()
                        }
                    },
                    new: { [notes] nodes in notes.withLock { $0 += nodes.map { "+ " + Self.words($0) } } },
                    changed: { [notes] nodes in notes.withLock { $0 += nodes.map { "~ " + Self.words($0) } } }
                ))
        }

        private static func words(_ node: Node) -> String {
            "\(node.name)" + (node.hasPreview ? " with a preview" : "")
        }

        func take() -> [String] {
            notes.withLock { notes in
                defer { notes = [] }
                return notes
            }
        }
    }

    private static let picture = MessageContent.Kind.image(preview: "data:image/jpg;base64,AA")

    @Test("files are reported with their paths")
    func items() throws {
        let (fixture, notes) = (try Fixture(), Notes())
        notes.watch(fixture.names)
        _ = try fixture.names.show([Fixture.item(1, "a.jpg", kind: Self.picture), Fixture.item(2, "b.txt")])
        #expect(notes.take() == ["+ a.jpg with a preview", "+ b.txt"])
        // Later versions of a message need not contain the preview.
        var later = Fixture.item(1, "a.jpg", kind: .image(preview: ""))
        later.file?.status = .rcvComplete
        _ = try fixture.names.show([later])
        #expect(notes.take() == ["~ a.jpg with a preview"])
        _ = try fixture.names.show([later])
        #expect(notes.take() == [])
        _ = try fixture.names.remove([ItemID(1), ItemID(2)])
        #expect(notes.take() == ["- Alice/a.jpg", "- Alice/b.txt"])
    }

    @Test("drafts are reported with their paths")
    func drafts() throws {
        let (fixture, notes) = (try Fixture(), Notes())
        notes.watch(fixture.names)
        let folder = fixture.folder(Fixture.alice)
        _ = try fixture.names.show(draft: DraftID(1), named: EntryName(".a.jpg.part"), in: folder)
        try fixture.names.rename(draft: DraftID(1), to: EntryName("a.jpg"))
        #expect(notes.take() == ["+ .a.jpg.part", "- Alice/.a.jpg.part", "+ a.jpg"])
        var item = Fixture.item(5, "a.jpg", kind: Self.picture)
        item.direction = .sent
        _ = try fixture.names.draft(
            DraftID(1), became: item, named: EntryName("a.jpg"), modified: Timestamp(seconds: 1))
        #expect(notes.take() == ["~ a.jpg with a preview"])
        _ = try fixture.names.show(recovered: DraftID(2), named: EntryName("b.jpg"))
        _ = try fixture.names.remove(draft: DraftID(2))
        #expect(notes.take() == ["+ b.jpg", "- .chatfs/recovered/b.jpg"])
    }

    @Test("folders are reported with all their paths")
    func folders() throws {
        let (fixture, notes) = (try Fixture(), Notes())
        _ = try fixture.names.show([Fixture.item(1, "a.jpg"), Fixture.item(2, "b.jpg")])
        fixture.names.letGo(fixture.folder(Fixture.alice))
        notes.watch(fixture.names)
        var chat = Fixture.chat(Fixture.alice, "Alicia")
        chat.isNamedByUser = true
        _ = try fixture.names.show([chat])
        #expect(notes.take().prefix(2) == ["- Alice/a.jpg", "- Alice/b.jpg"])
        _ = try fixture.names.remove(folder: fixture.folder(Fixture.alice))
        #expect(notes.take() == ["- Alicia/a.jpg", "- Alicia/b.jpg"])
    }

    @Test("failed changes are not reported")
    func failure() throws {
        let (fixture, notes) = (try Fixture(), Notes())
        notes.watch(fixture.names)
        let folder = fixture.folder(Fixture.alice)
        for (number, name) in ["a", "b"].enumerated() {
            _ = try fixture.names.show(draft: DraftID(Int64(number + 1)), named: EntryName(name), in: folder)
        }
        _ = notes.take()
        #expect(throws: NamespaceError.self) {
            try fixture.names.rename(draft: DraftID(1), to: EntryName("b"))
        }
        #expect(notes.take() == [])
    }

    @Test("all used paths and mountpoints are listed")
    func traces() throws {
        let fixture = try Fixture()
        _ = try fixture.names.show([Fixture.item(1, "a.jpg"), Fixture.item(2, "b.jpg", in: Fixture.bob)])
        _ = try fixture.names.show(recovered: DraftID(2), named: EntryName("c.jpg"))
        _ = try fixture.names.remove([ItemID(2)])
        var paths: Set<String> = []
        try fixture.names.eachPath { paths.insert(String(decoding: $0.bytes, as: UTF8.self)) }
        #expect(paths == ["Alice", "Bob", "Saved notes", "Alice/a.jpg", ".chatfs/recovered/c.jpg"])

        for number in 1...20 {
            try fixture.names.note(
                .init(path: "/mnt/\(number)", since: Int64(number), isSwept: number % 2 == 0))
        }
        try fixture.names.note(.init(path: "/mnt/20", since: 30, isSwept: false))
        try fixture.remount()
        let places = try fixture.names.mountpoints()
        #expect(places.map(\.since) == [30] + (5...19).reversed())
        #expect(places.first == .init(path: "/mnt/20", since: 30, isSwept: false))
        #expect(places[2] == .init(path: "/mnt/18", since: 18, isSwept: true))
    }
}
