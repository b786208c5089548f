import Base
import ChatCore
import FileSystem
import Glibc
import Hydration
import Namespace
import TestSupport
import Testing

@Suite("Counts of unfinished entries", .timeLimit(.minutes(10)))
struct SyncStatusTests {
    private typealias Fixture = FileSystemFixture

    private static let problem = FileProblem(.unreachable, "relay.example.org does not answer.")

    private static func fill(_ core: ScriptedCore) {
        for (name, status) in [
            ("a.bin", FileStatus.rcvInvitation(described: true)), ("b.bin", .rcvAccepted),
            ("c.bin", .rcvTransfer(received: 3, total: 6)), ("d.bin", .rcvComplete),
            ("e.bin", .rcvWarning(problem)), ("f.bin", .rcvError(FileProblem(.other, "It failed."))),
            ("g.bin", .rcvError(FileProblem(.expired, "It expired."))),
        ] {
            _ = core.received(name, in: Fixture.bob, size: 50, status: status)
        }
    }

    private static func reads(_ fixture: Fixture) -> Int { fixture.core.state.withLock { $0.unsettledReads } }

    @Test("the counts agree with the list of transfers")
    func counts() async throws {
        let fixture = try await Fixture.make(quietTime: .seconds(36_000), items: Self.fill)
        try await fixture.write([1], to: "draft.txt")
        let status = await fixture.fileSystem.syncStatus()
        #expect(status.pending == 4 && status.failed == 1)
        #expect(status.problem == Self.problem.sentence && status.coreProblem == nil)
        #expect(await fixture.fileSystem.status().transfers.count == status.pending + status.failed)
        fixture.core.tell(.coreUnreachable("There is no connection."))
        try await wait(until: "it is away") {
            await fixture.fileSystem.syncStatus().coreProblem == "There is no connection."
        }
        await fixture.end()
    }

    @Test("the core is asked once for each change")
    func once() async throws {
        let fixture = try await Fixture.make(items: Self.fill)
        let fs = fixture.fileSystem
        let first = await fs.syncStatus()
        let before = Self.reads(fixture)
        await withTaskGroup(of: SyncStatus.self) { group in
            for _ in 0..<50 { group.addTask { await fs.syncStatus() } }
            for await status in group { #expect(status == first) }
        }
        #expect(Self.reads(fixture) == before)
        let item = fixture.core.state.withLock { state in
            state.items[1].file?.status = .rcvComplete
            return state.items[1]
        }
        fixture.core.tell(.itemChanged(item, .completed))
        try await wait(until: "it is counted no more") { await fs.syncStatus().pending == first.pending - 1 }
        await fixture.end()
    }

    @Test("the next attempt of the first problem is known")
    func nextTry() async throws {
        let fixture = try await Fixture.make(items: Self.fill)
        let fs = fixture.fileSystem
        #expect(await fs.syncStatus().nextTry == nil)
        let items = fixture.core.state.withLock { $0.items }
        let file = try #require(items.first { $0.file?.name == "e.bin" }?.file)
        // A new time changes no count.
        var times: [Timestamp] = []
        for pause in [Duration.seconds(20), .seconds(9000)] {
            fixture.contents.conditions.withLock {
                $0[file.id] = HydrationCondition(problem: Self.problem, nextTry: pause)
            }
            let status = await fs.syncStatus()
            #expect(status.problem == Self.problem.sentence)
            times.append(try #require(status.nextTry))
        }
        #expect(times[0] < times[1])
        await fixture.end()
    }

    @Test("counting loads no chat")
    func unloaded() async throws {
        let fixture = try await Fixture.make(showsEverything: false, items: Self.fill)
        let bob = try fixture.id("bob")
        #expect(await fixture.fileSystem.syncStatus().pending == 3)
        #expect(fixture.fileSystem.list(bob, after: nil, count: 10) == nil)
        await fixture.end()
    }

    @Test("changes in a chat that is not loaded are counted", arguments: [true, false])
    func changesOfUnloaded(isDeletion: Bool) async throws {
        let fixture = try await Fixture.make(showsEverything: false, items: Self.fill)
        let fs = fixture.fileSystem
        let changes = fs.changes {}
        #expect(await fs.syncStatus().pending == 3)
        let item = fixture.core.state.withLock { state in
            state.items[1].file?.status = .rcvComplete
            return isDeletion ? state.items.remove(at: 1) : state.items[1]
        }
        fixture.core.tell(
            isDeletion
                ? .chatItemsDeleted([(Fixture.bob, item.id)], .deleted) : .itemChanged(item, .completed))
        try await wait(until: "it is counted no more") { await fs.syncStatus().pending == 2 }
        try await wait(until: "programs hear of it") { changes.take() == [.counts] }
        await fixture.end()
    }

    @Test("a failure of the core is not kept")
    func failure() async throws {
        let fixture = try await Fixture.make(items: Self.fill)
        fixture.core.state.withLock { $0.unsettledRefusal = ChatError(.storage, "The disk fails.") }
        #expect(await fixture.fileSystem.syncStatus().pending == 0)
        fixture.core.state.withLock { $0.unsettledRefusal = nil }
        #expect(await fixture.fileSystem.syncStatus().pending == 3)
        await fixture.end()
    }

    @Test("drafts count until they are removed")
    func drafts() async throws {
        let fixture = try await Fixture.make(quietTime: .seconds(36_000))
        let fs = fixture.fileSystem
        #expect(await fs.syncStatus().pending == 0)
        try await fixture.write([1], to: "draft.txt")
        #expect(await fs.syncStatus().pending == 1)
        try await fs.unlink(EntryName("draft.txt"), in: try fixture.id("bob")).value()
        #expect(await fs.syncStatus().pending == 0)
        await fixture.end()
    }
}
