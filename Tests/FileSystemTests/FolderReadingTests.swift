import Base
import ChatCore
import FileSystem
import Glibc
import Namespace
import TestSupport
import Testing

/// The core returns the items of `bob` when the test permits it.
@Suite("Chats that are not loaded", .timeLimit(.minutes(10)))
struct FolderReadingTests {
    private typealias Fixture = FileSystemFixture

    /// Delays requests for the items of a chat.
    private final class Gate: Sendable {
        private let state = Lock((isOpen: false, asked: 0))

        var asked: Int { state.withLock { $0.asked } }
        func open() { state.withLock { $0.isOpen = true } }

        func hold(_ chat: ChatReference, in core: ScriptedCore) {
            core.state.withLock { core in
                core.whenAsked = { [self] asked throws(ChatError) in
                    guard asked == chat else { return }
                    state.withLock { $0.asked += 1 }
                    while !state.withLock({ $0.isOpen }) { try? await Task.sleep(for: .milliseconds(1)) }
                }
            }
        }
    }

    private func make(
        _ gate: Gate, deadline: Duration = .seconds(60), _ items: (ScriptedCore) -> Void
    ) async throws -> Fixture {
        try await Fixture.make(readDeadline: deadline, showsEverything: false) { core in
            items(core)
            gate.hold(Fixture.bob, in: core)
        }
    }

    /// Starts at once and answers later.
    private func start<Value: Sendable>(_ answer: Answer<Value>) throws -> Task<Value, any Error> {
        guard case .later = answer else {
            throw WaitedInVain("it was answered though the chat is not read")
        }
        return Task { try await answer.value() }
    }

    @Test("only this chat's lookups and listings wait")
    func waiting() async throws {
        let gate = Gate()
        let fixture = try await make(gate) { core in
            _ = core.received("a.bin", in: Fixture.bob, size: 10)
            _ = core.received("b.bin", in: Fixture.silent, size: 10)
        }
        let fs = fixture.fileSystem
        let (bob, quiet) = (try fixture.id("bob"), try fixture.id("quiet"))
        #expect(
            fs.entries(.root).map(\.name.description).sorted().suffix(2) == [
                "bob", "quiet",
            ])
        #expect(try await fs.lookup(EntryName("b.bin"), in: quiet).value().size == 10)
        let found = try start(fs.lookup(EntryName("a.bin"), in: bob))
        let missing = try start(fs.lookup(EntryName("c.bin"), in: bob))
        let listing = try start(fs.prepare(bob))
        let made = try start(fs.create(EntryName("a.bin"), in: bob, flags: O_WRONLY | O_EXCL))
        try await wait(until: "the core was asked") { gate.asked > 0 }
        gate.open()
        #expect(try await found.value.size == 10)
        #expect(await code { _ = try await missing.value } == ENOENT)
        #expect(await code { _ = try await made.value } == EEXIST)
        try await listing.value
        #expect(fs.entries(bob).map(\.name.description) == ["a.bin"])
        #expect(gate.asked == 2, "read once, in two pages")
    }

    @Test("events win over concurrent loading")
    func news() async throws {
        let gate = Gate()
        let fixture = try await make(gate) { core in
            for name in ["a.bin", "b.bin", "c.bin"] { _ = core.received(name, in: Fixture.bob, size: 10) }
        }
        let core = fixture.core
        let listing = try start(fixture.fileSystem.prepare(try fixture.id("bob")))
        try await wait(until: "the core was asked") { gate.asked > 0 }
        // The core changes while its reply is in transit.
        let (complete, new) = core.state.withLock { state in
            state.items[0].file?.status = .rcvComplete
            return (state.items[0], state.items.remove(at: 1).id)
        }
        core.tell(.itemChanged(complete, .completed))
        core.tell(.chatItemsDeleted([(Fixture.bob, new)], .deleted))
        let arrived = core.received("d.bin", in: Fixture.bob, size: 10)
        core.tell(.newChatItems([arrived]))
        gate.open()
        try await listing.value
        try await wait(until: "all is told") { (try? fixture.attributes("bob/d.bin")) != nil }
        #expect(try fixture.attribute("user.chatfs.state", of: "bob/a.bin") == "stored")
        #expect(await code { _ = try fixture.id("bob/b.bin") } == ENOENT)
        #expect(try fixture.attribute("user.chatfs.state", of: "bob/c.bin") == "remote")
    }

    @Test("a failed load is reported and retried")
    func failing() async throws {
        let isBroken = Lock(true)
        let fixture = try await Fixture.make(readDeadline: .seconds(60)) { core in
            _ = core.received("a.bin", in: Fixture.bob, size: 10)
            core.state.withLock { state in
                state.whenAsked = { chat throws(ChatError) in
                    guard chat == Fixture.bob, isBroken.withLock({ $0 }) else { return }
                    throw ChatError(.storage, "The disk could not be read.")
                }
            }
        }
        let (fs, bob) = (fixture.fileSystem, try fixture.id("bob"))
        #expect(await fs.prepare(bob).code() == EIO)
        #expect(await fs.lookup(EntryName("a.bin"), in: bob).code() == EIO)
        isBroken.withLock { $0 = false }
        #expect(try await fs.lookup(EntryName("a.bin"), in: bob).value().size == 10)
    }

    @Test("slow loading gives ETIMEDOUT and completes later")
    func stalled() async throws {
        let gate = Gate()
        let fixture = try await make(gate, deadline: .milliseconds(50)) { core in
            _ = core.received("a.bin", in: Fixture.bob, size: 10)
        }
        let (fs, bob) = (fixture.fileSystem, try fixture.id("bob"))
        #expect(await fs.lookup(EntryName("a.bin"), in: bob).code() == ETIMEDOUT)
        #expect(await fs.prepare(bob).code() == ETIMEDOUT)
        let status = try await fs.open(.status, flags: O_RDONLY).value()
        let text = String(decoding: try await fixture.read(status, at: 0, count: 4096), as: UTF8.self)
        #expect(text.contains("\"entries\" : 1"), "that is known without it")
        gate.open()
        await fs.showEverything()
        #expect(try await fs.lookup(EntryName("a.bin"), in: bob).value().size == 10)
    }

    @Test("an interrupted wait does not stop the load")
    func interrupted() async throws {
        let gate = Gate()
        let fixture = try await make(gate) { core in
            _ = core.received("a.bin", in: Fixture.bob, size: 10)
        }
        let (fs, bob) = (fixture.fileSystem, try fixture.id("bob"))
        let patient = try start(fs.lookup(EntryName("a.bin"), in: bob))
        let hasty = try start(fs.lookup(EntryName("a.bin"), in: bob))
        try await wait(until: "the core was asked") { gate.asked > 0 }
        hasty.cancel()
        #expect(await code { _ = try await hasty.value } == EINTR)
        gate.open()
        #expect(try await patient.value.size == 10)
    }

    @Test("an unloaded chat's sent draft keeps its name")
    func draft() async throws {
        let folder = try TemporaryFolder()
        let core = ScriptedCore(
            stagingFolder: try folder.makeFolder("staging"),
            chats: [
                Chat(reference: Fixture.bob, displayName: "bob", updatedAt: Timestamp(seconds: 1))
            ])
        _ = core.received("other.bin", in: Fixture.bob, size: 10)
        core.state.withLock { $0.refusal = ChatError(.file(.unreachable), "There is no connection.") }
        let first = try await Fixture(folder, core, .refused, .seconds(60), .seconds(60))
        await first.fileSystem.showEverything()
        try await first.write([1, 2, 3], to: "mine.bin")
        let number = try first.id("bob/mine.bin")
        await first.end()
        core.state.withLock { $0.refusal = nil }
        let second = try await Fixture(folder, core, .refused, .zero, .seconds(60))
        try await wait(until: "it is sent") {
            try second.attribute("user.chatfs.state", of: "bob/mine.bin") == "sent"
        }
        #expect(
            second.fileSystem.entries(try second.id("bob")).map(\.name.description).sorted()
                == ["mine.bin", "other.bin"])
        #expect(try second.id("bob/mine.bin") == number)
        await second.end()
    }
}
