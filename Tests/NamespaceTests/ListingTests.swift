import Base
import ChatCore
import Namespace
import Posix
import Testing

@Suite("Listings")
struct ListingTests {
    private typealias Fixture = NamespaceFixture

    @Test("paged listings show each lasting entry once")
    func stable() throws {
        let fixture = try Fixture()
        _ = try fixture.names.show((1...1000).map { Fixture.item($0, "\($0).txt") })
        var seen: [NodeID] = []
        var step: Int64 = 1
        while true {
            let page = fixture.names.children(of: fixture.folder(Fixture.alice), after: seen.last, count: 37)
            if page.isEmpty { break }
            seen += page.map(\.id)
            _ = try fixture.names.remove([ItemID(step * 30)])
            if step <= 20 { _ = try fixture.names.show([Fixture.item(2000 + step, "new \(step)")]) }
            step += 1
        }
        #expect(Set(seen).count == seen.count)
        let removed = Set((1..<step).map { $0 * 30 })
        for id in (Int64(1)...1000) where !removed.contains(id) {
            #expect(fixture.names.node(of: ItemID(id)).map { seen.contains($0.id) } == true)
        }
    }

    @Test("concurrent readers never see half a change")
    func readersBesideWriters() async throws {
        let fixture = try Fixture()
        let names = fixture.names
        let folder = fixture.folder(Fixture.alice)
        let done = Lock(false)
        async let looks = withTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    await ThreadPool.shared.run {
                        var looks = 0
                        while !done.withLock({ $0 }) {
                            for node in names.children(of: folder, after: nil, count: .max) {
                                // A listed name can be looked up unless it vanished.
                                if let found = names.child(node.name, of: folder) {
                                    #expect(found.id == node.id)
                                }
                            }
                            looks += 1
                        }
                        return looks
                    }
                }
            }
            return await group.reduce(0, +)
        }
        for round in Int64(0)..<20 {
            let items = (1...100).map { Fixture.item(round * 100 + $0, "f\($0)") }
            _ = try await ThreadPool.shared.run { try names.show(items) }
            _ = try await ThreadPool.shared.run { try names.remove(items.map(\.id)) }
        }
        done.withLock { $0 = true }
        #expect(await looks > 0)
        #expect(names.children(of: folder, after: nil, count: 1).isEmpty)
    }

    @Test("a changed item keeps its position")
    func updates() throws {
        let fixture = try Fixture()
        _ = try fixture.names.show([Fixture.item(1, "a"), Fixture.item(2, "b")])
        var changed = Fixture.item(1, "a")
        changed.file?.status = .rcvComplete
        guard case .changed(let node)? = try fixture.names.show([changed]).first else {
            Issue.record("no change was told")
            return
        }
        #expect(node.name == EntryName("a"))
        #expect(try fixture.names.show([changed]).isEmpty)
        var bare = Fixture.item(3, "c")
        bare.file = nil
        #expect(try fixture.names.show([bare, Fixture.item(4, "d", in: .direct(99))]).isEmpty)
        #expect(fixture.list() == ["a", "b"])
    }

    @Test("name changes advance the folder's time")
    func times() throws {
        let fixture = try Fixture()
        let folder = fixture.folder(Fixture.alice)
        _ = try fixture.names.show([Fixture.item(1, "a")])
        #expect(fixture.names.modified(folder: folder) == Timestamp(seconds: 1_700_000_001))
        let now = Timestamp(seconds: 1_800_000_000)
        _ = try fixture.names.show([Fixture.item(2, "b")], at: now)
        #expect(fixture.names.modified(folder: folder) == now)
    }

    @Test("a folder's time never goes back")
    func timesOfRenames() throws {
        let fixture = try Fixture()
        let folder = fixture.folder(Fixture.alice)
        let ahead = Timestamp(seconds: 4_000_000_000)
        _ = try fixture.names.show([Fixture.item(1, "a")], at: ahead)
        _ = try fixture.names.show(draft: DraftID(1), named: EntryName("b"), in: folder)
        try fixture.names.rename(draft: DraftID(1), to: EntryName("c"))
        #expect(fixture.list() == ["a", "c"])
        #expect(fixture.names.modified(folder: folder) == ahead)
    }
}
