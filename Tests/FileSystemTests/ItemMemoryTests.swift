import Base
import ChatCore
import FileSystem
import Glibc
import Namespace
import TestSupport
import Testing

@Suite("Eviction of items", .timeLimit(.minutes(10)))
struct ItemMemoryTests {
    private typealias Fixture = FileSystemFixture

    private func make(_ count: Int = 3) async throws -> Fixture {
        try await Fixture.make(readDeadline: .seconds(60)) { core in
            for number in 0..<count { _ = core.received("\(number).bin", in: Fixture.bob, size: 10) }
        }
    }

    private func inMemory(_ fixture: Fixture) async -> Int {
        await fixture.fileSystem.status().entriesInMemory ?? -1
    }

    /// Adds references to all files of `bob`, like READDIRPLUS.
    private func tell(_ fixture: Fixture) throws -> [Node] {
        let nodes = fixture.fileSystem.entries(try fixture.id("bob"))
        try #require(!nodes.isEmpty)
        for node in nodes { _ = fixture.fileSystem.attributesToKeep(of: node) }
        return nodes
    }

    private func forget(_ nodes: [Node], in fixture: Fixture) async throws {
        for node in nodes { fixture.fileSystem.forget(node.id, 1) }
        try await wait(until: "they are let go") { await inMemory(fixture) == 0 }
    }

    @Test("forgotten items are evicted and found again")
    func forgotten() async throws {
        let fixture = try await make()
        let fs = fixture.fileSystem
        let (bob, nodes) = (try fixture.id("bob"), try tell(fixture))
        for node in nodes.dropLast() { fs.forget(node.id, 1) }
        #expect(await inMemory(fixture) == 3)
        try await forget(nodes.suffix(1), in: fixture)
        #expect(await fs.status().entries == 3)
        let again = try await fs.attributes(nodes[1].id).value()
        #expect(again.id == nodes[1].id && again.size == 10)
        #expect(await inMemory(fixture) == 3, "the chat is loaded again")
        _ = try tell(fixture)
        try await forget(nodes, in: fixture)
        #expect(try await fs.lookup(EntryName("2.bin"), in: bob).value().id == nodes[2].id)
        fs.forget(nodes[2].id, 1)
        try await wait(until: "they are let go") { await inMemory(fixture) == 0 }
        let handle = try await fs.open(nodes[0].id, flags: O_RDONLY).value()
        #expect(try await fixture.read(handle, at: 0, count: 10) == Array(0..<10))
        fs.release(handle)
        #expect(await fs.attributes(NodeID(1_000_000)).code() == ESTALE)
        await fixture.end()
    }

    @Test("every operation loads evicted items")
    func operations() async throws {
        let fixture = try await make()
        let fs = fixture.fileSystem
        let (bob, nodes) = (try fixture.id("bob"), try tell(fixture))
        let operations: [() async -> Int32] = [
            { await fs.access(nodes[0].id, mask: R_OK).code() - 0 },
            { await fs.access(nodes[0].id, mask: X_OK).code() - EACCES },
            { await fs.extendedAttribute("user.chatfs.state", of: nodes[0].id).code() },
            { await fs.setExtendedAttribute("user.x", [], of: nodes[0].id).code() - EPERM },
            { await fs.removeExtendedAttribute("user.x", of: nodes[0].id).code() - EPERM },
            { await fs.unlink(EntryName("0.bin"), in: bob).code() - EPERM },
            {
                await fs.rename(EntryName("0.bin"), in: bob, to: EntryName("x"), in: bob, flags: 0).code()
                    - EPERM
            },
            { await fs.create(EntryName("0.bin"), in: bob, flags: O_WRONLY | O_EXCL).code() - EEXIST },
            { await fs.prepare(bob).code() },
            { (try? await fs.item(at: nodes[0].id))?.id == ItemID(1) ? 0 : -1 },
        ]
        for (number, operation) in operations.enumerated() {
            try await forget(nodes, in: fixture)
            #expect(fs.list(bob, after: nil, count: 10) == nil)
            #expect(await operation() == 0, "operation \(number)")
            #expect(await inMemory(fixture) == 3)
            _ = try tell(fixture)
        }
        await fixture.end()
    }

    @Test("item of a chat that cannot be loaded is an error")
    func unreachable() async throws {
        let fixture = try await make()
        let fs = fixture.fileSystem
        let nodes = try tell(fixture)
        try await forget(nodes, in: fixture)
        fixture.core.state.withLock { state in
            state.whenAsked = { _ throws(ChatError) in throw ChatError(.file(.unreachable), "It is away.") }
        }
        let error = await #expect(throws: FileSystemError.self) { try await fs.item(at: nodes[0].id) }
        #expect(error?.code == EHOSTUNREACH && error?.sentence == "It is away.")
        #expect(try await fs.item(at: NodeID(1_000_000)) == nil)
        fixture.core.state.withLock { $0.whenAsked = { _ in } }
        #expect(try await fs.item(at: nodes[0].id)?.id == ItemID(1))
        await fixture.end()
    }

    @Test("open or written chats are not evicted")
    func pinned() async throws {
        let fixture = try await make()
        let fs = fixture.fileSystem
        let nodes = try tell(fixture)
        let handle = try await fs.open(nodes[0].id, flags: O_RDONLY).value()
        for node in nodes { fs.forget(node.id, 1) }
        try await Task.sleep(for: .milliseconds(20))
        #expect(await inMemory(fixture) == 3)
        fs.release(handle)
        _ = try tell(fixture)
        let (_, draft) = try await fs.create(
            EntryName("mine.bin"), in: try fixture.id("bob"), flags: O_WRONLY | O_CREAT
        ).value()
        for node in nodes { fs.forget(node.id, 1) }
        try await Task.sleep(for: .milliseconds(20))
        #expect(await inMemory(fixture) == 3)
        fs.release(draft)
        await fixture.end()
    }

    @Test("events change and remove evicted items")
    func events() async throws {
        let fixture = try await make()
        let (fs, core) = (fixture.fileSystem, fixture.core)
        let nodes = try tell(fixture)
        try await forget(nodes, in: fixture)
        let notices = Lock<[String]>([])
        fs.tellKernel { notice in notices.withLock { $0.append("\(notice)") } }
        let changed = core.state.withLock { state in
            state.items[0].file?.status = .rcvComplete
            return state.items[0]
        }
        core.tell(.itemChanged(changed, .completed))
        try await wait(until: "its attributes are asked for anew") {
            notices.withLock { $0.contains("\(KernelNotice.attributes(nodes[0].id))") }
        }
        let gone = core.state.withLock { $0.items.remove(at: 1) }
        fixture.contents.here.withLock { $0 = [gone] }
        core.tell(.chatItemsDeleted([(Fixture.bob, gone.id)], .disappeared))
        try await wait(until: "its name and bytes are gone") {
            notices.withLock { notices in
                notices.contains("\(KernelNotice.entry(nodes[1].name, in: nodes[1].folder))")
                    && notices.contains("\(KernelNotice.content(nodes[1].id))")
            }
        }
        #expect(fixture.contents.removed.withLock { $0 } == [FileID(2): true])
        let new = core.received("0.bin", in: Fixture.bob, size: 10)
        core.tell(.newChatItems([new]))
        let bob = try fixture.id("bob")
        try await wait(until: "it arrives") {
            await fs.lookup(EntryName("0 (2).bin"), in: bob).code() == 0
        }
        _ = try await fs.prepare(bob).value()
        #expect(fs.entries(bob).map(\.name.description) == ["0.bin", "2.bin", "0 (2).bin"])
        #expect(try fixture.attribute("user.chatfs.state", of: "bob/0.bin") == "stored")
        await fixture.end()
    }

    /// Three chats with four files each.
    private func threeChats(itemsInMemory: Int, text: String = "") async throws -> Fixture {
        try await Fixture.make(
            readDeadline: .seconds(60), itemsInMemory: itemsInMemory, showsEverything: false
        ) { core in
            let third = ChatReference.group(3)
            core.state.withLock {
                $0.chats.append(
                    Chat(reference: third, displayName: "third", updatedAt: Timestamp(seconds: 1)))
            }
            let content = MessageContent(kind: .file, text: text)
            for chat in [Fixture.bob, Fixture.silent, third] {
                for number in 0..<4 {
                    _ = core.received("\(number).bin", in: chat, size: 10, content: content)
                }
            }
        }
    }

    @Test("the least recently used chat is evicted")
    func limit() async throws {
        let fixture = try await threeChats(itemsInMemory: 4)
        let fs = fixture.fileSystem
        let (bob, quiet, third) = (try fixture.id("bob"), try fixture.id("quiet"), try fixture.id("third"))
        try await fs.prepare(bob).value()
        let nodes = try tell(fixture)
        try await fs.prepare(quiet).value()
        try await fs.prepare(third).value()
        try await wait(until: "there are few in memory") { await inMemory(fixture) == 8 }
        #expect(fs.entries(third).count == 4 && fs.list(bob, after: nil, count: 10) == nil)
        #expect(try await fs.attributes(nodes[3].id).value().id == nodes[3].id)
        try await wait(until: "there are few in memory") { await inMemory(fixture) == 8 }
        #expect(fs.list(quiet, after: nil, count: 10) == nil)
        await fixture.end()
    }

    @Test("two listings at once load each chat once")
    func twoListings() async throws {
        let fixture = try await threeChats(itemsInMemory: 4)
        let (fs, loads) = (fixture.fileSystem, Lock(0))
        fixture.core.state.withLock { $0.whenAsked = { _ in loads.withLock { $0 += 1 } } }
        let chats = [try fixture.id("bob"), try fixture.id("quiet")]
        for chat in chats { try await fs.prepare(chat).value() }
        let first = loads.withLock { $0 }
        for _ in 0..<4 { for chat in chats { try await fs.prepare(chat).value() } }
        #expect(loads.withLock { $0 } == first)
        await fixture.end()
    }

    @Test func itemsWithLongTextsCountForSeveral() async throws {
        let fixture = try await threeChats(
            itemsInMemory: 12, text: String(repeating: "x", count: 60_000))
        for name in ["bob", "quiet", "third"] {
            try await fixture.fileSystem.prepare(fixture.id(name)).value()
        }
        try await wait(until: "there are few in memory") { await inMemory(fixture) == 8 }
        await fixture.end()
    }
}
