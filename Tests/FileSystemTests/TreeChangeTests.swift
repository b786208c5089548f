import Base
import ChatCore
import Glibc
import Namespace
import TestSupport
import Testing

@testable import FileSystem

@Suite("Tree changes for programs", .timeLimit(.minutes(10)))
struct TreeChangeTests {
    private typealias Fixture = FileSystemFixture

    /// Waits until all of these changes were reported in this order.
    private func expect(_ wanted: [TreeChange], from subscription: TreeSubscription) async throws {
        let told = Lock<[TreeChange]>([], rank: .collection)
        try await wait(until: "\(wanted) is told") {
            told.withLock { told in
                told += subscription.take()
                var left = wanted[...]
                for change in told where change == left.first { left = left.dropFirst() }
                return left.isEmpty
            }
        }
    }

    @Test("an arrival shown by a listing is reported")
    func listedFirst() async throws {
        let fixture = try await Fixture.make(showsEverything: false)
        let changes = fixture.fileSystem.changes {}
        let item = fixture.core.received("a.bin", in: Fixture.bob, size: 10)
        try await fixture.fileSystem.prepare(try fixture.id("bob")).value()
        let id = try fixture.id("bob/a.bin")
        fixture.core.tell(.newChatItems([item]))
        try await expect([.appeared(id)], from: changes)
        await fixture.end()
    }

    @Test("arrivals, changes and deletions are reported")
    func events() async throws {
        let fixture = try await Fixture.make()
        let (fs, core) = (fixture.fileSystem, fixture.core)
        let available = Lock(0)
        let changes = fs.changes { available.withLock { $0 += 1 } }
        var item = core.received("a.bin", in: Fixture.bob, size: 10)
        core.tell(.newChatItems([item]))
        try await wait(until: "it is there") { (try? fixture.id("bob/a.bin")) != nil }
        let id = try fixture.id("bob/a.bin")
        try await expect([.appeared(id)], from: changes)
        #expect(available.withLock { $0 } >= 1)
        #expect(await fs.lister.entry(of: item.id, in: Fixture.bob)?.id == id)
        #expect(await fs.lister.entry(of: ItemID(99), in: Fixture.bob) == nil)
        fs.tellExpiring([id])
        fs.completeStatus {
            $0.keeping = MountStatus.Keeping(expiring: 1, waiting: 2, obstacles: ["disk": 2])
        }
        try await expect([.expiring(id)], from: changes)
        #expect(await fs.status().keeping?.obstacles == ["disk": 2])
        item.file?.status = .rcvComplete
        core.tell(.itemChanged(item, .completed))
        try await expect([.changed(id)], from: changes)
        core.tell(.coreUnreachable("There is no connection."))
        core.tell(.coreReachable)
        try await expect([.core(problem: "There is no connection."), .core(problem: nil)], from: changes)
        for isSuspended in [true, false] { fs.tellSuspension(isSuspended) }
        try await expect([.suspension(true), .suspension(false)], from: changes)
        core.tell(.chatItemsDeleted([(Fixture.bob, item.id)], .deleted))
        try await expect([.vanished(id, path: "bob/a.bin")], from: changes)
        changes.cancel()
        core.tell(.coreUnreachable("There is no connection."))
        try await Task.sleep(for: .milliseconds(20))
        #expect(changes.take().isEmpty)
        await fixture.end()
    }

    @Test("changes by users are reported too")
    func drafts() async throws {
        let fixture = try await Fixture.make(quietTime: .seconds(60))
        let fs = fixture.fileSystem
        let changes = fs.changes {}
        try await fixture.write([1, 2, 3], to: "mine.part")
        let (bob, id) = (try fixture.id("bob"), try fixture.id("bob/mine.part"))
        try await expect([.appeared(id)], from: changes)
        try await fs.rename(
            EntryName("mine.part"), in: bob, to: EntryName("mine.bin"), in: bob, flags: 0
        ).value()
        try await expect([.vanished(id, path: "bob/mine.part"), .appeared(id)], from: changes)
        #expect(await fs.lister.entry(id)?.path == "bob/mine.bin")
        try await fs.unlink(EntryName("mine.bin"), in: bob).value()
        try await expect([.vanished(id, path: "bob/mine.bin")], from: changes)
        #expect(await fs.lister.entry(id) == nil)
        await fixture.end()
    }

    @Test("repeated changes are merged")
    func coalescing() {
        var backlog = ChangeBacklog()
        let (first, second) = (NodeID(2000), NodeID(2001))
        let wasEmpty = [
            backlog.add(.appeared(first), limit: 10), backlog.add(.changed(first), limit: 10),
            backlog.add(.changed(second), limit: 10), backlog.add(.changed(second), limit: 10),
            backlog.add(.vanished(second, path: "x"), limit: 10), backlog.add(.changed(second), limit: 10),
        ]
        #expect(wasEmpty == [true, false, false, false, false, false])
        #expect(
            backlog.take() == [
                .appeared(first), .changed(second), .vanished(second, path: "x"), .changed(second),
            ])
        #expect(backlog.take().isEmpty)
        let isFirst = backlog.add(.changed(first), limit: 10)
        #expect(isFirst, "told of again after it was taken")
    }

    @Test("a slow program is told to list again")
    func missed() {
        var backlog = ChangeBacklog()
        var signals = 0
        for number in 0..<100 where backlog.add(.appeared(NodeID(UInt64(2000 + number))), limit: 8) {
            signals += 1
        }
        #expect(signals == 1)
        #expect(backlog.take() == [.missed])
        _ = backlog.add(.appeared(NodeID(3000)), limit: 8)
        #expect(backlog.take() == [.appeared(NodeID(3000))])
    }

    @Test("ten thousand arrivals stay within bounds")
    func burst() async throws {
        let fixture = try await Fixture.make()
        let changes = fixture.fileSystem.changes(limit: 100) {}
        let all = fixture.fileSystem.changes(limit: 20_000) {}
        let items = (0..<10_000).map { fixture.core.received("\($0).bin", in: Fixture.bob, size: 1) }
        fixture.core.tell(.newChatItems(items))
        let bob = try fixture.id("bob")
        try await wait(until: "they are there", within: .seconds(50)) {
            fixture.fileSystem.entries(bob).count == 10_000
        }
        var told = 0
        try await wait(until: "they are told of") {
            told += all.take().count
            return told >= 10_000
        }
        #expect(changes.take() == [.missed])
        var (paths, last) = (Set<String>(), NodeID?.none)
        while true {
            let page = try await fixture.fileSystem.lister.entries(of: bob, after: last, count: 999)
            paths.formUnion(page.map(\.path))
            guard let end = page.last else { break }
            last = end.id
        }
        #expect(paths.count == 10_000)
        await fixture.end()
    }
}

@Suite("Entries for programs", .timeLimit(.minutes(10)))
struct EntryListerTests {
    private typealias Fixture = FileSystemFixture

    @Test("chats and entries are described with attributes")
    func listing() async throws {
        let fixture = try await Fixture.make { core in
            _ = core.received("a.jpg", in: Fixture.bob, size: 10)
            _ = core.received("b.bin", in: Fixture.silent, size: 20)
        }
        let lister = fixture.fileSystem.lister
        #expect(lister.chats().map(\.name) == ["bob", "quiet"])
        #expect(lister.chats()[1].chat.sendingRefused == "This group takes no files.")
        let entry = try await lister.entry(at: "bob/a.jpg")
        #expect(entry.name == "a.jpg" && entry.size == 10 && entry.chat == Fixture.bob)
        #expect(entry.id == (try fixture.id("bob/a.jpg")))
        for attribute in ExtendedAttribute.all {
            #expect(
                entry.attributes[attribute.name] == (try fixture.attribute(attribute.name, of: "bob/a.jpg")))
        }
        #expect(entry["state"] == "remote" && entry.attributes["user.mime_type"] == "image/jpeg")
        await fixture.end()
    }

    @Test("missing names and folders give kernel errors")
    func refusals() async throws {
        let fixture = try await Fixture.make()
        let lister = fixture.fileSystem.lister
        for (path, code) in [
            ("bob/none", ENOENT), ("none/a", ENOENT), ("bob", EISDIR), ("", EISDIR), ("/", EISDIR),
            (".chatfs/status.json", ENOENT), ("bob/../bob/none", ENOENT),
        ] {
            let error = await #expect(throws: FileSystemError.self, "\(path)") {
                try await lister.entry(at: path)
            }
            #expect(error?.code == code, "\(path)")
        }
        await fixture.end()
    }

    @Test("evicted chats are loaded without kernel references")
    func letGo() async throws {
        let fixture = try await Fixture.make(readDeadline: .seconds(60), showsEverything: false) { core in
            for number in 0..<3 { _ = core.received("\(number).bin", in: Fixture.bob, size: 10) }
        }
        let (fs, bob) = (fixture.fileSystem, try fixture.id("bob"))
        #expect(fs.list(bob, after: nil, count: 10) == nil)
        #expect(try await fs.lister.entries(of: bob, count: 10).count == 3)
        let node = try #require(fs.entries(bob).first)
        _ = fs.attributesToKeep(of: node)
        fs.forget(node.id, 1)
        // The last reference: references to other entries would keep the chat in memory.
        try await wait(until: "the chat is let go of") { fs.list(bob, after: nil, count: 10) == nil }
        #expect(await fs.lister.entry(node.id)?.path == "bob/0.bin")
        await fixture.end()
    }
}
