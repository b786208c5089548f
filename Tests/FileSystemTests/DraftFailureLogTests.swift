import Base
import FileSystem
import Glibc
import Namespace
import Outbox
import Posix
import TestSupport
import Testing

/// Each in its own process, whose standard error is a file.
@Suite("Logged failures of drafts")
struct DraftFailureLogTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var log: String {
        get throws { String(decoding: try folder.read("log"), as: UTF8.self) }
    }

    @Test("recovered draft that cannot be shown again is logged")
    func recovered() async throws {
        let path = folder.path("log")
        await #expect(processExitsWith: .success) { [path = path as String] in
            let log = try OpenFile(path, flags: O_WRONLY | O_CREAT | O_APPEND)
            dup2(log.descriptor, STDERR_FILENO)
            let drafts = MemoryDrafts()
            _ = try drafts.createDraft(named: Array("a.txt".utf8), in: FileSystemFixture.bob)
            drafts.all.last?.change { $0.state = .recovered }
            let fixture = try await FileSystemFixture.make(drafts: drafts)
            let fileSystem = fixture.fileSystem
            // The index cannot be used any more.
            drafts.whenSendingRecovered { fileSystem.close() }
            drafts.fail(.retry, with: OutboxError(.storage, "The disk failed."))
            let id = try fixture.id(".chatfs/recovered/a.txt")
            #expect(await fileSystem.setExtendedAttribute("user.chatfs.retry", [], of: id).code() == EIO)
        }
        #expect(try log.contains("recovered draft not shown again: error="))
    }

    @Test("draft of a failed creation that stays is logged")
    func created() async throws {
        let path = folder.path("log")
        await #expect(processExitsWith: .success) { [path = path as String] in
            let log = try OpenFile(path, flags: O_WRONLY | O_CREAT | O_APPEND)
            dup2(log.descriptor, STDERR_FILENO)
            let drafts = MemoryDrafts()
            let fixture = try await FileSystemFixture.make(drafts: drafts)
            let (fileSystem, bob) = (fixture.fileSystem, try fixture.id("bob"))
            fileSystem.close()
            drafts.fail(.remove, with: OutboxError(.storage, "The disk failed."))
            let answer = fileSystem.create(EntryName("a.txt"), in: bob, flags: O_WRONLY | O_CREAT)
            #expect(await answer.code() == EIO)
        }
        #expect(try log.contains("draft of a failed creation not removed: error=The disk failed."))
    }
}
