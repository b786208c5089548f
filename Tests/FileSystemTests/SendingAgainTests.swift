import Base
import ChatCore
import FileSystem
import Glibc
import Namespace
import Posix
import TestSupport
import Testing

@Suite("Resending failed uploads")
struct SendingAgainTests {
    private typealias Fixture = FileSystemFixture

    /// An own message whose upload failed, with its file at `path`.
    private static func failed(
        at path: String, _ core: ScriptedCore, caption: String = "Look"
    ) -> ChatItem {
        core.state.withLock { state in
            state.nextID += 1
            let file = ChatFile(
                id: FileID(7), name: "a.bin", size: 3,
                status: .sndError(FileProblem(.other, "The upload ended.")), transport: .xftp,
                source: FileSourceLocation(path: path, arguments: nil))
            let item = ChatItem(
                id: ItemID(1), chat: Fixture.bob, direction: .sent, sender: "alice",
                time: Timestamp(seconds: 1_700_000_000), content: MessageContent(kind: .file, text: caption),
                file: file)
            state.items.append(item)
            return item
        }
    }

    private func retry(_ fixture: Fixture) async throws -> Int32 {
        await fixture.fileSystem.setExtendedAttribute(
            "user.chatfs.retry", [0x31], of: try fixture.id("bob/a.bin")
        ).code()
    }

    @Test(
        "the new message keeps name and number",
        arguments: ["Look", String(repeating: "Löok ", count: 10_000)])
    func again(caption: String) async throws {
        let files = try TemporaryFolder()
        let path = try files.write([1, 2, 3], to: "a.bin")
        let fixture = try await Fixture.make { _ = Self.failed(at: path, $0, caption: caption) }
        let before = try fixture.attributes("bob/a.bin")
        #expect(try fixture.attribute("user.chatfs.state", of: "bob/a.bin") == "failed")
        #expect(try await retry(fixture) == 0)
        #expect(try fixture.attribute("user.chatfs.state", of: "bob/a.bin") == "sent")
        let after = try fixture.attributes("bob/a.bin")
        #expect(after.id == before.id && after.modified == before.modified)
        #expect(
            fixture.fileSystem.entries(try fixture.id("bob")).map(\.name.description)
                == ["a.bin"])
        let (sent, deleted) = fixture.core.state.withLock { ($0.sent, $0.deleted) }
        #expect(sent.map(\.content.text) == [caption])
        #expect(try OpenFile(sent[0].source.path, flags: O_RDONLY).readAll(limit: 10) == [1, 2, 3])
        #expect(deleted.map(\.0) == [ItemID(1)] && deleted.map(\.1) == [.broadcast])
        // A sent file cannot be resent.
        #expect(try await retry(fixture) == EPERM)
    }

    @Test("a resend outlives its request")
    func slow() async throws {
        let files = try TemporaryFolder()
        let path = try files.write([1, 2, 3], to: "a.bin")
        let isHeld = Lock(true)
        let fixture = try await Fixture.make(changeTimeout: .milliseconds(200)) { core in
            _ = Self.failed(at: path, core)
            core.state.withLock { state in
                state.whenHanded = {
                    while isHeld.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(5)) }
                }
            }
        }
        // The kernel locks the inode until the answer. The second request joins the first.
        #expect(try await retry(fixture) == ETIMEDOUT)
        #expect(try await retry(fixture) == ETIMEDOUT)
        isHeld.withLock { $0 = false }
        try await wait(until: "it is sent") {
            try fixture.attribute("user.chatfs.state", of: "bob/a.bin") == "sent"
        }
        #expect(fixture.core.state.withLock { $0.sent.count } == 1)
    }

    @Test("a failed resend changes nothing")
    func refused() async throws {
        let files = try TemporaryFolder()
        let path = try files.write([1, 2, 3], to: "a.bin")
        let fixture = try await Fixture.make { _ = Self.failed(at: path, $0) }
        fixture.core.state.withLock { $0.refusal = ChatError(.sendingRefused, "The contact is not ready.") }
        #expect(try await retry(fixture) == EACCES)
        rename(path, path + ".away")
        #expect(try await retry(fixture) == ENOENT)
        #expect(try fixture.attribute("user.chatfs.state", of: "bob/a.bin") == "failed")
        #expect(fixture.core.state.withLock { $0.deleted.isEmpty })
        rename(path + ".away", path)
        fixture.core.state.withLock { $0.refusal = nil }
        #expect(try await retry(fixture) == 0)
        #expect(fixture.core.state.withLock { $0.sent.map(\.id) } == ["again-1"])
    }
}
