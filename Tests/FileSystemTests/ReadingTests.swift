import Base
import ChatCore
import FileSystem
import Glibc
import Namespace
import TestSupport
import Testing

@Suite("Reading entries")
struct ReadingTests {
    private typealias Fixture = FileSystemFixture

    @Test("local bytes are answered at once and exactly")
    func here() async throws {
        let fixture = try await Fixture.make { _ = $0.received("a.bin", in: Fixture.bob, size: 1000) }
        let handle = try await fixture.fileSystem.open(fixture.id("bob/a.bin"), flags: O_RDONLY).value()
        #expect(
            try await fixture.read(handle, at: 990, count: 100)
                == (990..<1000).map { UInt8(truncatingIfNeeded: $0) })
        #expect(try await fixture.read(handle, at: 1000, count: 10).isEmpty)
        #expect(try await fixture.read(handle, at: .max, count: 10).isEmpty)
        #expect(try await fixture.read(handle, at: 0, count: 1000).count == 1000)
        fixture.fileSystem.release(handle)
        #expect(fixture.contents.open.withLock { Array($0.values) } == [0])
    }

    @Test("kernel pages stay valid unless bytes changed")
    func pages() async throws {
        let fixture = try await Fixture.make { _ = $0.received("a.bin", in: Fixture.bob, size: 1000) }
        let item = try #require(fixture.core.state.withLock { $0.items.first })
        for (content, keeps) in [(MemoryContents.Content.here, true), (.changed, false)] {
            fixture.contents.set(content, for: item)
            let handle = try await fixture.fileSystem.open(fixture.id("bob/a.bin"), flags: O_RDONLY).value()
            #expect(handle.keepsPages == keeps)
            #expect(!handle.bypassesPages)
            fixture.fileSystem.release(handle)
        }
    }

    @Test("each file problem has its errno")
    func problems() async throws {
        let table: [(FileProblem.Kind, Int32)] = [
            (.notApproved, EACCES), (.blocked, EACCES), (.expired, ENODATA), (.neverUploaded, ENODATA),
            (.cancelledBySender, ENODATA), (.damaged, EBADMSG), (.timedOut, ETIMEDOUT),
            (.unreachable, EHOSTUNREACH), (.noRelay, EHOSTUNREACH), (.noSpace, ENOSPC), (.relayFull, ENOSPC),
            (.tooLarge, EFBIG), (.other, EIO),
        ]
        #expect(Set(table.map(\.0)) == Set(FileProblem.Kind.allCases))
        let fixture = try await Fixture.make { core in
            for (kind, _) in table { _ = core.received(kind.rawValue, in: Fixture.bob, size: 10) }
        }
        for (kind, errno) in table {
            let items = fixture.core.state.withLock { $0.items }
            let item = try #require(items.first { $0.file?.name == kind.rawValue })
            fixture.contents.set(.failing(FileProblem(kind, "Because.")), for: item)
            #expect(await code { _ = try await fixture.read("bob/\(kind.rawValue)", count: 10) } == errno)
        }
    }

    @Test("an expired file reports the time")
    func expired() async throws {
        let gone = FileStatus.rcvError(FileProblem(.expired, "The relay does not have it any more."))
        let deleted = FileStatus.rcvError(FileProblem(.cancelledBySender, "The sender cancelled it."))
        let fixture = try await Fixture.make { core in
            _ = core.received("late.bin", in: Fixture.bob, size: 10, status: gone)
            _ = core.received("other.bin", in: Fixture.bob, size: 10, status: deleted)
        }
        #expect(
            try fixture.attribute("user.chatfs.error", of: "bob/late.bin")
                == "The relay does not have it any more. Its time on the relay ended at 2023-11-16 22:13 +00:00."
        )
        #expect(
            try fixture.attribute("user.chatfs.error", of: "bob/other.bin") == "The sender cancelled it.")
    }

    @Test("waiting reads end by bytes, deadline or interrupt")
    func waiting() async throws {
        func make(_ deadline: Duration) async throws -> Fixture {
            let fixture = try await Fixture.make(readDeadline: deadline) { core in
                for name in ["later", "never"] { _ = core.received(name, in: Fixture.bob, size: 10) }
            }
            let items = fixture.core.state.withLock { $0.items }
            fixture.contents.set(.later, for: items[0])
            fixture.contents.set(.never, for: items[1])
            return fixture
        }
        let hasty = try await make(.milliseconds(200))
        #expect(await code { _ = try await hasty.read("bob/never", count: 10) } == ETIMEDOUT)
        let fixture = try await make(.seconds(60))
        #expect(try await fixture.read("bob/later", count: 10).count == 10)
        let reader = Task { await code { _ = try await fixture.read("bob/never", count: 10) } }
        reader.cancel()
        #expect(await reader.value == EINTR)
    }

    @Test("deleted files stay readable through handles")
    func deleted() async throws {
        let fixture = try await Fixture.make { _ = $0.received("a.bin", in: Fixture.bob, size: 10) }
        let id = try fixture.id("bob/a.bin")
        let handle = try await fixture.fileSystem.open(id, flags: O_RDONLY).value()
        try await fixture.core.deleteItems([ItemID(1)], in: Fixture.bob, mode: .internal)
        try await wait(until: "it is gone") { (try? fixture.id("bob/a.bin")) == nil }
        #expect(try await fixture.fileSystem.attributes(id).value().size == 10)
        #expect(try await fixture.read(handle, at: 0, count: 10).count == 10)
        fixture.fileSystem.release(handle)
        #expect(await fixture.fileSystem.attributes(id).code() == ESTALE)
    }

    @Test("control files are consistent per open")
    func control() async throws {
        let fixture = try await Fixture.make { core in
            _ = core.received("a.bin", in: Fixture.bob, size: 10)
            _ = core.received(
                "b.bin", in: Fixture.bob, size: 50, status: .rcvTransfer(received: 30, total: 60))
        }
        let status = String(
            decoding: try await fixture.read(".chatfs/status.json", count: 10_000), as: UTF8.self)
        #expect(status.contains("\"entries\" : 2") && status.contains("\"path\" : \"bob/b.bin\""))
        #expect(!status.contains("a.bin"))
        let transfers = String(
            decoding: try await fixture.read(".chatfs/transfers", count: 1000), as: UTF8.self)
        #expect(transfers == "receiving\t50%\t50\tbob/b.bin\n")
        #expect(try fixture.attributes(".chatfs/transfers").size == UInt64(transfers.utf8.count))
    }

    @Test("item changes invalidate the kernel's caches")
    func news() async throws {
        let fixture = try await Fixture.make()
        let told = Lock<[String]>([])
        fixture.fileSystem.tellKernel { notice in
            told.withLock { told in
                switch notice {
                case .attributes: told.append("attributes")
                case .content: told.append("content")
                case .entry(let name, _): told.append("entry \(name)")
                }
            }
        }
        let item = fixture.core.received("a.jpg", in: Fixture.bob, size: 10)
        fixture.core.tell(.newChatItems([item]))
        try await wait(until: "it is there") { (try? fixture.id("bob/a.jpg")) != nil }
        var received = item
        received.file?.status = .rcvComplete
        fixture.core.tell(.itemChanged(received, .completed))
        try await wait(until: "it is stored") {
            try fixture.attribute("user.chatfs.state", of: "bob/a.jpg") == "stored"
        }
        fixture.core.tell(.chatItemsDeleted([(Fixture.bob, item.id)], .deleted))
        try await wait(until: "it is gone") { (try? fixture.id("bob/a.jpg")) == nil }
        try await wait(until: "all was told") {
            told.withLock { $0 } == ["entry a.jpg", "attributes", "entry a.jpg"]
        }
    }

    @Test(
        "expired and moderated files lose their pages",
        arguments: [DeletionReason.deleted, .disappeared, .moderated])
    func gone(reason: DeletionReason) async throws {
        let fixture = try await Fixture.make { core in _ = core.received("a.jpg", in: Fixture.bob, size: 10) }
        let id = try fixture.id("bob/a.jpg")
        let item = try #require(try await fixture.fileSystem.item(at: id))
        let handle = try await fixture.fileSystem.open(id, flags: O_RDONLY).value()
        let dropped = Lock<[NodeID]>([])
        fixture.fileSystem.tellKernel { notice in
            if case .content(let node) = notice { dropped.withLock { $0.append(node) } }
        }
        fixture.core.tell(.chatItemsDeleted([(Fixture.bob, item.id)], reason))
        let file = try #require(item.file).id
        try await wait(until: "its content was taken away") {
            fixture.contents.removed.withLock { $0[file] } != nil
        }
        #expect(fixture.contents.removed.withLock { $0[file] } == (reason != .deleted))
        await fixture.end()
        #expect(dropped.withLock { $0 } == (reason == .deleted ? [] : [id]))
        #expect((try? fixture.id("bob/a.jpg")) == nil)
        #expect(try await fixture.fileSystem.attributes(id).value().size == 10)
        fixture.fileSystem.release(handle)
    }
}
