import Base
import ChatCore
import Glibc
import Namespace
import Posix
import TestSupport
import Testing

@testable import FileSystem

@Suite("The folder .chatfs/messages")
struct MessageFileTests {
    private typealias Fixture = FileSystemFixture

    private func fixture(_ log: String) async throws -> FileSystemFixture {
        try await Fixture.make { core in
            core.state.withLock { $0.logs[Fixture.bob] = Array(log.utf8) }
        }
    }

    @Test("stat reports the log's length without reading")
    func shown() async throws {
        let fixture = try await fixture("{\"event\":\"message\"}\n")
        let fs = fixture.fileSystem
        #expect(fs.entries(.control).map(\.name.description).contains("messages"))
        #expect(fs.entries(.messages).map(\.name.description) == ["bob.jsonl"])
        let shown = try fixture.attributes(".chatfs/messages/bob.jsonl")
        #expect(shown.size == 20 && shown.permissions == 0o400 && shown.modified.seconds == 1_700_000_000)
        #expect(shown.id == fs.entries(.messages).first?.id)
        #expect(fixture.core.state.withLock { $0.logReads } == 0)
        #expect(fixture.find(".chatfs/messages/quiet.jsonl").code == ENOENT)
        #expect(fixture.find(".chatfs/messages/bob").code == ENOENT)
        #expect(
            try await fixture.read(".chatfs/messages/bob.jsonl", at: 10, count: 99)
                == Array("message\"}\n".utf8))
        await fixture.end()
    }

    @Test("writes, renames and removals are refused")
    func readOnly() async throws {
        let fixture = try await fixture("x\n")
        let fs = fixture.fileSystem
        let id = try fixture.id(".chatfs/messages/bob.jsonl")
        #expect(await fs.open(id, flags: O_RDWR).code() == EPERM)
        #expect(await fs.open(id, flags: O_RDONLY | O_TRUNC).code() == EPERM)
        #expect(await fs.create(EntryName("a"), in: .messages, flags: O_WRONLY).code() == EPERM)
        #expect(await fs.unlink(EntryName("bob.jsonl"), in: .messages).code() == EPERM)
        let other = EntryName("b")
        #expect(
            await fs.rename(EntryName("bob.jsonl"), in: .messages, to: other, in: .messages, flags: 0).code()
                == EPERM)
        await fixture.end()
    }

    @Test("open logs grow and the kernel is notified")
    func grows() async throws {
        let fixture = try await fixture("one\n")
        let fs = fixture.fileSystem
        let told = Lock<[String]>([])
        fs.tellKernel { notice in told.withLock { $0.append("\(notice)") } }
        let id = try fixture.id(".chatfs/messages/bob.jsonl")
        let handle = try await fs.open(id, flags: O_RDONLY).value()
        #expect(handle.bypassesPages)
        #expect(try await fixture.read(handle, at: 0, count: 99) == Array("one\n".utf8))
        #expect(try await fixture.read(handle, at: 4, count: 99) == [])
        fixture.core.append("two\n", to: Fixture.bob)
        try await wait(until: "the new length is shown") { try fs.attributes(id).get().size == 8 }
        #expect(told.withLock { $0.contains { $0.contains("attributes") && $0.contains("\(id.rawValue)") } })
        #expect(try await fixture.read(handle, at: 4, count: 99) == Array("two\n".utf8))
        fs.release(handle)
        await fixture.end()
    }

    @Test("logs follow the life of their chat")
    func names() async throws {
        let fixture = try await Fixture.make()
        let fs = fixture.fileSystem
        #expect(fixture.find(".chatfs/messages/bob.jsonl").code == ENOENT)
        let told = Lock<[String]>([])
        fs.tellKernel { notice in
            if case .entry(let name, .messages) = notice { told.withLock { $0.append(name.description) } }
        }
        fixture.core.append("one\n", to: Fixture.bob)
        try await wait(until: "it is there") { fixture.find(".chatfs/messages/bob.jsonl").code == nil }
        let id = try fixture.id(".chatfs/messages/bob.jsonl")
        fixture.core.tell(
            .chatUpdated(
                Chat(
                    reference: Fixture.bob, displayName: "Robert", updatedAt: Timestamp(seconds: 2),
                    isNamedByUser: true)))
        try await wait(until: "it has the new name") {
            fixture.find(".chatfs/messages/Robert.jsonl").code == nil
        }
        #expect(try fixture.id(".chatfs/messages/Robert.jsonl") == id)
        #expect(fixture.find(".chatfs/messages/bob.jsonl").code == ENOENT)
        fixture.core.tell(.chatRemoved(Fixture.bob))
        try await wait(until: "it is gone") {
            fixture.find(".chatfs/messages/Robert.jsonl").code == ENOENT && fs.entries(.messages).isEmpty
        }
        try await wait(until: "the kernel was told") {
            told.withLock { $0 } == ["bob.jsonl", "bob.jsonl", "Robert.jsonl", "Robert.jsonl"]
        }
        await fixture.end()
    }

    @Test("a longest-named chat has a log")
    func longName() async throws {
        let name = String(repeating: "n", count: 255)
        let fixture = try await Fixture.make { core in
            core.state.withLock { state in
                state.chats.append(
                    Chat(reference: .direct(77), displayName: name, updatedAt: Timestamp(seconds: 1)))
                state.logs[.direct(77)] = Array("x\n".utf8)
            }
        }
        let shown = try #require(fixture.fileSystem.entries(.messages).first)
        #expect(shown.name.bytes.count <= 255)
        #expect(try fixture.id(".chatfs/messages/\(shown.name)") == shown.id)
        await fixture.end()
    }
}

extension Result where Failure == FileSystemError {
    /// The errno; nil for success.
    fileprivate var code: Int32? { if case .failure(let error) = self { error.code } else { nil } }
}
