import Base
import ChatCore
import FileSystem
import Glibc
import Store
import TestSupport
import Testing

@testable import Namespace

/// Events of a chat that cannot be applied to the tree yet.
@Suite("Postponed events", .timeLimit(.minutes(10)))
struct PostponedEventTests {
    private typealias Fixture = FileSystemFixture

    /// An index that refuses all changes until reopened, as with a full disk or another process's lock.
    private final class ClosedIndex {
        private let database: Database

        init(_ fixture: Fixture) throws {
            database = try Database(
                path: fixture.folder.path("names.sqlite"), migrations: NameIndex.migrations)
            try database.transaction { connection in
                for change in ["INSERT", "UPDATE", "DELETE"] {
                    try connection.executeScript(
                        """
                        CREATE TRIGGER closed_\(change) BEFORE \(change) ON node
                        BEGIN SELECT RAISE(ABORT, 'closed'); END
                        """)
                }
            }
        }

        func open() throws {
            try database.transaction { connection in
                for change in ["INSERT", "UPDATE", "DELETE"] {
                    try connection.executeScript("DROP TRIGGER closed_\(change)")
                }
            }
        }
    }

    private func names(_ fixture: Fixture, in folder: String = "bob") throws -> [String] {
        fixture.fileSystem.entries(try fixture.id(folder)).map(\.name.description)
    }

    @Test(
        "arrivals wait for the index in order")
    func arrival() async throws {
        let fixture = try await Fixture.make()
        let index = try ClosedIndex(fixture)
        let items = ["a.bin", "b.bin", "c.bin"].map { fixture.core.received($0, in: Fixture.bob, size: 10) }
        for item in items { fixture.core.tell(.newChatItems([item])) }
        fixture.core.tell(.chatItemsDeleted([(Fixture.bob, items[1].id)], .deleted))
        // Applied after the others, which were therefore tried.
        fixture.core.tell(.coreUnreachable("It sleeps."))
        try await wait(until: "the events were tried") {
            await fixture.fileSystem.status().coreProblem != nil
        }
        #expect(try names(fixture) == [])
        try index.open()
        try await wait(until: "they are shown") { try names(fixture) == ["a.bin", "c.bin"] }
        await fixture.end()
    }

    @Test("a deletion frees bytes before the index")
    func deletion() async throws {
        let fixture = try await Fixture.make { _ = $0.received("a.bin", in: Fixture.bob, size: 10) }
        let index = try ClosedIndex(fixture)
        let item = try #require(fixture.core.state.withLock { $0.items.first })
        fixture.core.tell(.chatItemsDeleted([(Fixture.bob, item.id)], .disappeared))
        try await wait(until: "its bytes are gone") { fixture.contents.removed.withLock { !$0.isEmpty } }
        #expect(try names(fixture) == ["a.bin"])
        try index.open()
        try await wait(until: "it is gone") { try names(fixture) == [] }
        await fixture.end()
    }

    @Test("a sent draft becomes an item later")
    func sent() async throws {
        let drafts = MemoryDrafts()
        let fixture = try await Fixture.make(drafts: drafts)
        try await fixture.write([1, 2, 3], to: "a.txt")
        let id = try fixture.id("bob/a.txt")
        let draft = try #require(drafts.all.first)
        let item = try await fixture.core.send(
            ComposedMessage(
                id: "mark", fileName: "a.txt", size: 3, source: FileSourceLocation(path: "", arguments: nil),
                content: MessageContent(kind: .file)),
            to: Fixture.bob)
        let index = try ClosedIndex(fixture)
        drafts.tell(.became(draft, item))
        fixture.core.tell(.coreUnreachable("It sleeps."))
        try await wait(until: "the event was tried") { await fixture.fileSystem.status().coreProblem != nil }
        #expect(drafts.acknowledged.isEmpty)
        try index.open()
        try await wait(until: "the outbox is told") { drafts.acknowledged == [draft.id] }
        try await wait(until: "nobody holds it") { draft.holds == 0 }
        #expect(try fixture.id("bob/a.txt") == id)
        #expect(try fixture.attribute("user.chatfs.state", of: "bob/a.txt") == "sent")
        await fixture.end()
    }

    @Test("recovery of a draft is retried whole")
    func recovered() async throws {
        let drafts = MemoryDrafts()
        let fixture = try await Fixture.make(drafts: drafts)
        try await fixture.write([1], to: "a.txt")
        let draft = try #require(drafts.all.first)
        draft.change { $0.state = .recovered }
        let index = try ClosedIndex(fixture)
        drafts.tell(.recovered(draft))
        fixture.core.tell(.coreUnreachable("It sleeps."))
        try await wait(until: "the event was tried") { await fixture.fileSystem.status().coreProblem != nil }
        #expect(try names(fixture) == ["a.txt"])
        try index.open()
        try await wait(until: "it has moved") {
            try names(fixture, in: ".chatfs/recovered") == ["a.txt"] && names(fixture) == []
        }
        try await wait(until: "nobody holds it") { draft.holds == 0 }
        await fixture.end()
    }

    /// The core returns the files of `bob` again.
    @Test(
        "an unloadable chat delays no other"
    )
    func unreadableChat() async throws {
        let isAway = Lock(true)
        let fixture = try await Fixture.make(showsEverything: false) { core in
            core.state.withLock { state in
                state.whenAsked = { chat throws(ChatError) in
                    guard chat == Fixture.bob, isAway.withLock({ $0 }) else { return }
                    throw ChatError(.file(.unreachable), "The core is away.")
                }
            }
        }
        let old = fixture.core.received("a.bin", in: Fixture.bob, size: 10)
        fixture.core.tell(.newChatItems([old]))
        let other = fixture.core.received("b.bin", in: Fixture.silent, size: 10)
        fixture.core.tell(.newChatItems([other]))
        try await wait(until: "the other chat is shown") { (try? fixture.id("quiet/b.bin")) != nil }
        #expect((try? fixture.id("bob/a.bin")) == nil)
        isAway.withLock { $0 = false }
        try await wait(until: "the chat is shown") { (try? fixture.id("bob/a.bin")) != nil }
        await fixture.end()
    }

    @Test("the next mount applies a failed event")
    func end() async throws {
        let fixture = try await Fixture.make()
        let index = try ClosedIndex(fixture)
        let item = fixture.core.received("a.bin", in: Fixture.bob, size: 10)
        fixture.core.tell(.newChatItems([item]))
        await fixture.end()
        #expect(try names(fixture) == [])
        try index.open()
        let next = try await Fixture(
            fixture.folder, fixture.core, .refused, .seconds(60), .seconds(60))
        await next.fileSystem.showEverything()
        #expect(try names(next) == ["a.bin"])
        await next.end()
    }
}
