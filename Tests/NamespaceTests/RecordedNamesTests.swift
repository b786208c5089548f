import Base
import ChatCore
import Glibc
import Store
import TestSupport
import Testing

@testable import Namespace

/// Names, mountpoints and digests read from the index alone.
@Suite struct RecordedNamesTests {
    private typealias Fixture = NamespaceFixture

    private func recorded(_ fixture: Fixture) throws -> RecordedNames {
        try RecordedNames(path: fixture.folder + "/names.sqlite")
    }

    @Test func onlyNamesOfMountsAreKnown() throws {
        let fixture = try Fixture()
        _ = try fixture.names.show([
            Fixture.item(1, "a"), Fixture.item(2, "a"), Fixture.item(3, "ü\u{202E}x"),
        ])
        let names = try recorded(fixture)
        #expect(try names.folder(of: Fixture.alice) == "Alice")
        #expect(try names.folder(of: Fixture.notes) == "Saved notes")
        #expect(try names.folder(of: .direct(99)) == nil)
        #expect(try names.path(of: ItemID(1)) == "Alice/a")
        #expect(try names.path(of: ItemID(2)) == "Alice/a (2)")
        #expect(try names.path(of: ItemID(99)) == nil)
        for item in [1, 2, 3].map({ ItemID(Int64($0)) }) {
            #expect(try names.node(of: item) == fixture.names.node(of: item)?.id)
        }
        #expect(try names.node(of: ItemID(99)) == nil)
        // Later changes and deletions are visible.
        _ = try fixture.names.show([Fixture.item(4, "later")])
        _ = try fixture.names.remove([ItemID(1)])
        #expect(try names.path(of: ItemID(4)) == "Alice/later" && names.path(of: ItemID(1)) == nil)
    }

    @Test func missingIndexIsNotCreated() throws {
        let folder = try TemporaryFolder()
        let names = try RecordedNames(path: folder.path("names.sqlite"))
        #expect(try names.path(of: ItemID(1)) == nil && names.folder(of: Fixture.alice) == nil)
        #expect(try names.node(of: ItemID(1)) == nil)
        #expect(try folder.names() == [])
    }

    @Test func invalidIndexIsReported() throws {
        let folder = try TemporaryFolder()
        try folder.write(Array("no database, whatever its name is".utf8), to: "other.sqlite")
        let error = #expect(throws: NamespaceError.self) {
            _ = try RecordedNames(path: folder.path("other.sqlite")).folder(of: Fixture.alice)
        }
        #expect(error?.code == .storage)
        #expect(try folder.read("other.sqlite").count == 33)
    }

    @Test func developmentIndexOpens() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("names.sqlite")
        try DevelopmentDatabase.make(
            "names", at: path,
            rows: "INSERT INTO mountpoint (path, since, is_swept) VALUES ('/mnt', 7, 1)")
        let names = try Namespace(path: path)
        #expect(try names.mountpoints().map(\.path) == ["/mnt"])
        let old = try Database(path: path, migrations: NameIndex.migrations)
        let new = try Database(path: folder.path("new.sqlite"), migrations: NameIndex.migrations)
        #expect(try DevelopmentDatabase.schema(of: old) == DevelopmentDatabase.schema(of: new))
    }

    @Test func mountpointsAreListedLatestFirstUpToLimit() throws {
        let fixture = try Fixture()
        #expect(try fixture.names.mountpoints() == [])
        for number in 1...20 {
            try fixture.names.note(
                RecordedMountpoint(path: "/mnt/\(number)", since: Int64(number), isSwept: number % 2 == 0))
        }
        let places = try fixture.names.mountpoints()
        #expect(places.map(\.since) == (5...20).reversed())
        #expect(places.allSatisfy { $0.isSwept == (Int($0.since) % 2 == 0) })
        // A repeated mountpoint is listed once, as the latest.
        try fixture.names.note(RecordedMountpoint(path: "/mnt/7", since: 99, isSwept: false))
        try fixture.remount()
        let again = try fixture.names.mountpoints()
        #expect(again.count == 16 && again[0].path == "/mnt/7" && again[0].since == 99)
    }

    @Test func everyPathIsListedWithItsFolder() throws {
        let fixture = try Fixture()
        _ = try fixture.names.show([Fixture.item(1, "a"), Fixture.item(2, "b", in: Fixture.bob)])
        let folder = fixture.folder(Fixture.alice)
        _ = try fixture.names.show(draft: DraftID(1), named: EntryName([0xC3, 0xA4]), in: folder)
        _ = try fixture.names.show(recovered: DraftID(2), named: EntryName("left"))
        var paths: Set<String> = []
        try fixture.names.eachPath { paths.insert(String(decoding: $0.bytes, as: UTF8.self)) }
        #expect(
            paths == [
                "Alice", "Bob", "Saved notes", "Alice/a", "Bob/b", "Alice/ä", ".chatfs/recovered/left",
            ])
    }

    @Test func digestsFollowTheirFiles() throws {
        let fixture = try Fixture()
        _ = try fixture.names.show([Fixture.item(1, "a"), Fixture.item(2, "b")])
        let ids = try [1, 2].map { try #require(fixture.names.node(of: ItemID($0))?.id) }
        #expect(try fixture.names.digests(of: ids) == [:])
        let digest = [UInt8](repeating: 9, count: 32)
        try fixture.names.set(digest: digest, of: ItemID(1))
        try fixture.names.set(digest: digest, of: ItemID(99))
        #expect(try fixture.names.digests(of: ids + [NodeID(1 << 40)]) == [ids[0]: digest])
        try fixture.remount()
        #expect(try fixture.names.digests(of: ids) == [ids[0]: digest])
        _ = try fixture.names.show([Fixture.item(1, "a")])
        _ = try fixture.names.remove([ItemID(1)])
        #expect(try fixture.names.digests(of: ids) == [:])
    }

    @Test func digestIsNotInheritedByReplacingMessage() throws {
        let fixture = try Fixture()
        let (first, second) = (Fixture.item(1, "a"), Fixture.item(2, "a"))
        _ = try fixture.names.show([first])
        let id = try #require(fixture.names.node(of: ItemID(1))?.id)
        try fixture.names.set(digest: [1], of: ItemID(1))
        _ = try fixture.names.item(first, became: second)
        #expect(fixture.names.node(of: ItemID(2))?.id == id)
        #expect(try fixture.names.digests(of: [id]) == [:])
    }
}
