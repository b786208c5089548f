import Base
import ChatCore
import FileSystem
import Glibc
import Namespace
import Outbox
import TestSupport
import Testing

/// Every answer of a draft at any moment, without a broken disk.
@Suite("Drafts between outbox and tree")
struct DraftStoreTests {
    private typealias Fixture = FileSystemFixture

    /// A mount with one closed draft.
    private struct Scene {
        let drafts = MemoryDrafts()
        let fixture: FileSystemFixture
        let draft: MemoryDraft
        let id: NodeID
        let chat: NodeID
        var fileSystem: FileSystem { fixture.fileSystem }
        static let name = EntryName("a.txt")

        init() async throws {
            fixture = try await Fixture.make(drafts: drafts)
            try await fixture.write([1, 2, 3], to: "a.txt")
            draft = try #require(drafts.all.first)
            id = try fixture.id("bob/a.txt")
            chat = try fixture.id("bob")
        }
    }

    static let codes: [(OutboxErrorCode, Int32)] = [
        (.tooLarge, EFBIG), (.noSpace, ENOSPC), (.notPermitted, EPERM), (.invalidName, EILSEQ),
        (.nameTooLong, ENAMETOOLONG), (.nameTaken, EEXIST), (.damaged, EBADMSG), (.gone, ESTALE),
        (.shuttingDown, ESHUTDOWN), (.wrongVersion, EIO), (.storage, EIO),
    ]

    @Test("each outbox error maps to its errno", arguments: codes)
    func answers(code refused: OutboxErrorCode, errno: Int32) async throws {
        let stage = try await Scene()
        let (fs, draft, error) = (stage.fileSystem, stage.draft, OutboxError(refused, "No."))
        let handle = try await fs.open(stage.id, flags: O_RDWR).value()
        for operation in MemoryDraft.Operation.allCases { draft.fail(operation, with: error) }
        #expect(await fs.open(stage.id, flags: O_RDONLY).code() == errno)
        #expect(await fs.open(stage.id, flags: O_WRONLY | O_TRUNC).code() == errno)
        let written = [UInt8]([1]).withUnsafeBytes { fs.write(handle, $0, at: 0, by: getpid()) }
        #expect(written == .failure(FileSystemError(errno)))
        #expect(await code { _ = try await stage.fixture.read(handle, at: 0, count: 1) } == errno)
        #expect(await fs.synchronise(handle).code() == errno)
        let cut = AttributeChange(permissions: nil, changesOwner: false, size: 1, modified: nil)
        #expect(await fs.change(stage.id, cut).code() == errno)
        let touch = AttributeChange(permissions: nil, changesOwner: false, size: nil, modified: .now)
        #expect(await fs.change(stage.id, touch).code() == errno)
        let caption = fs.setExtendedAttribute("user.chatfs.caption", [0x61], of: stage.id)
        #expect(await caption.code() == errno)
        // The refusals changed nothing.
        #expect(draft.bytes == [1, 2, 3] && draft.snapshot.caption.isEmpty)
        #expect(draft.snapshot.modified == Timestamp(seconds: 1))
        fs.release(handle)
        await stage.fixture.end()
    }

    @Test("refused changes keep the name", arguments: codes)
    func names(code: OutboxErrorCode, errno: Int32) async throws {
        let stage = try await Scene()
        let (fs, name) = (stage.fileSystem, EntryName("b.txt"))
        for operation in MemoryDrafts.Operation.allCases {
            stage.drafts.fail(operation, with: OutboxError(code, "No."))
        }
        #expect(await fs.create(name, in: stage.chat, flags: O_WRONLY).code() == errno)
        #expect(
            await fs.rename(Scene.name, in: stage.chat, to: name, in: stage.chat, flags: 0).code() == errno)
        #expect(await fs.unlink(Scene.name, in: stage.chat).code() == errno)
        #expect(await fs.setExtendedAttribute("user.chatfs.retry", [], of: stage.id).code() == errno)
        #expect(fs.entries(stage.chat).map(\.name) == [Scene.name])
        #expect(try stage.fixture.id("bob/a.txt") == stage.id)
        await stage.fixture.end()
    }

    static let appearances: [(DraftState, word: String, permissions: UInt16, links: UInt32)] = [
        (.draft, "draft", 0o600, 1), (.queued, "queued", 0o644, 1), (.sending, "sending", 0o644, 1),
        // Until the item replaces it.
        (.sent, "sending", 0o644, 1), (.failed, "failed", 0o644, 1), (.unsure, "unsure", 0o644, 1),
        (.recovered, "recovered", 0o644, 1), (.removed, "cancelled", 0o600, 0),
    ]

    @Test("each state shows in mode, links and attribute", arguments: appearances)
    func appearance(state: DraftState, word: String, permissions: UInt16, links: UInt32) async throws {
        let stage = try await Scene()
        stage.draft.change { snapshot in
            snapshot.state = state
            snapshot.problem = "Because."
        }
        let attributes = try stage.fixture.attributes("bob/a.txt")
        #expect(UInt16(attributes.permissions) == permissions && attributes.links == links)
        #expect(try stage.fixture.attribute("user.chatfs.state", of: "bob/a.txt") == word)
        #expect(try stage.fixture.attribute("user.chatfs.error", of: "bob/a.txt") == "Because.")
        let cut = AttributeChange(permissions: nil, changesOwner: false, size: 1, modified: nil)
        #expect(await stage.fileSystem.change(stage.id, cut).code() == (state.isEditable ? 0 : EPERM))
        let isRetried = [.failed, .unsure].contains(state)
        let retry = await stage.fileSystem.setExtendedAttribute("user.chatfs.retry", [], of: stage.id).code()
        #expect(retry == (isRetried ? 0 : EPERM) && stage.drafts.retried.isEmpty != isRetried)
        await stage.fixture.end()
    }

    /// The item that the core made of a draft.
    private func item(of stage: Scene) async throws -> ChatItem {
        try await stage.fixture.core.send(
            ComposedMessage(
                id: "mark", fileName: "a.txt", size: 3, source: FileSourceLocation(path: "", arguments: nil),
                content: MessageContent(kind: .file)),
            to: FileSystemFixture.bob)
    }

    @Test("a just sent draft opens as the item")
    func sentWhileOpening() async throws {
        let stage = try await Scene()
        let item = try await item(of: stage)
        stage.draft.beforeOpening { [drafts = stage.drafts, draft = stage.draft] in
            draft.fail(.open, with: OutboxError(.gone, "It is sent."))
            draft.change { $0.state = .sent }
            drafts.tell(.became(draft, item))
            // On a pool thread, because it may wait for the change to be shown.
            while drafts.acknowledged.isEmpty { usleep(1000) }
        }
        let handle = try await stage.fileSystem.open(stage.id, flags: O_RDONLY).value()
        // The bytes of `MemoryContents`, not the draft's.
        #expect(try await stage.fixture.read(handle, at: 0, count: 3) == [0, 1, 2])
        stage.fileSystem.release(handle)
        // The entry is the same, and no reference to the draft is left.
        #expect(try stage.fixture.id("bob/a.txt") == stage.id)
        #expect(stage.drafts.acknowledged == [stage.draft.id] && stage.draft.holds == 0)
        await stage.fixture.end()
    }

    @Test("opening waits for the item of a moved draft", arguments: [DraftState.queued, .sending, .sent])
    func movedBeforeItsItem(state: DraftState) async throws {
        let stage = try await Scene()
        let item = try await item(of: stage)
        // The core has moved the bytes.
        stage.draft.fail(.open, with: OutboxError(.storage, "Could not open a file."))
        stage.draft.change { $0.state = state }
        let opens = Lock(0)
        stage.draft.beforeOpening { opens.withLock { $0 += 1 } }
        let (fileSystem, id) = (stage.fileSystem, stage.id)
        let opening = Task { try await fileSystem.open(id, flags: O_RDONLY).value() }
        try await wait(until: "it tries") { opens.withLock { $0 } > 0 }
        stage.drafts.tell(.became(stage.draft, item))
        let handle = try await opening.value
        #expect(try await stage.fixture.read(handle, at: 0, count: 3) == [0, 1, 2])
        stage.fileSystem.release(handle)
        #expect(await stage.fileSystem.open(stage.id, flags: O_WRONLY).code() == EPERM)
        await stage.fixture.end()
    }

    @Test("writing a just sent draft is refused")
    func sentBeforeWriting() async throws {
        let stage = try await Scene()
        let item = try await item(of: stage)
        stage.draft.beforeOpening { [drafts = stage.drafts, draft = stage.draft] in
            draft.fail(.open, with: OutboxError.immutable)
            drafts.tell(.became(draft, item))
            while drafts.acknowledged.isEmpty { usleep(1000) }
        }
        #expect(await stage.fileSystem.open(stage.id, flags: O_WRONLY).code() == EPERM)
        await stage.fixture.end()
    }

    @Test("removal during acceptance withdraws the item")
    func removedWhileSending() async throws {
        let stage = try await Scene()
        stage.fixture.core.state.withLock { $0.sentStatus = .sndTransfer(sent: 1, total: 3) }
        let item = try await item(of: stage)
        stage.draft.change { $0.state = .sending }
        let (fs, chat) = (stage.fileSystem, stage.chat)
        async let removal = fs.unlink(Scene.name, in: chat).code()
        try await Task.sleep(for: .milliseconds(20))
        #expect(stage.drafts.all.count == 1)
        stage.drafts.tell(.became(stage.draft, item))
        #expect(await removal == 0)
        #expect(stage.fixture.core.state.withLock { $0.cancelled } == [try #require(item.file).id])
        #expect((try? stage.fixture.id("bob/a.txt")) == nil)
        await stage.fixture.end()
    }

    @Test("acceptance during removal is withdrawn too")
    func removedWhenSendingBegins() async throws {
        let stage = try await Scene()
        stage.fixture.core.state.withLock { $0.sentStatus = .sndTransfer(sent: 1, total: 3) }
        let item = try await item(of: stage)
        stage.drafts.takeAtRemoval(of: stage.draft.id)
        let (fs, chat) = (stage.fileSystem, stage.chat)
        async let removal = fs.unlink(Scene.name, in: chat).code()
        try await wait(until: "it was to be removed") { stage.draft.state != .draft }
        // After success, a power cut must not restore it.
        #expect(stage.draft.state == .sending && stage.drafts.all.count == 1)
        stage.drafts.tell(.became(stage.draft, item))
        #expect(await removal == 0)
        #expect(stage.fixture.core.state.withLock { $0.cancelled } == [try #require(item.file).id])
        #expect((try? stage.fixture.id("bob/a.txt")) == nil)
        await stage.fixture.end()
    }

    @Test("an interrupted removal returns at once")
    func removalGivenUp() async throws {
        let stage = try await Scene()
        stage.draft.change { $0.state = .sending }
        let (fs, chat) = (stage.fileSystem, stage.chat)
        let before = stage.draft.looks
        let removal = Task { await fs.unlink(Scene.name, in: chat).code() }
        try await wait(until: "it waits") { stage.draft.looks > before + 2 }
        let interrupted = stage.draft.looks
        removal.cancel()
        #expect(await removal.value == EINTR)
        // Checked once more, not continually.
        #expect(stage.draft.looks < interrupted + 1000)
        #expect(stage.drafts.all.count == 1 && stage.draft.state == .sending)
        await stage.fixture.end()
    }

    @Test("removal of a returned draft deletes it")
    func removedAfterARefusal() async throws {
        let stage = try await Scene()
        stage.draft.change { $0.state = .sending }
        let (fs, chat) = (stage.fileSystem, stage.chat)
        async let removal = fs.unlink(Scene.name, in: chat).code()
        try await Task.sleep(for: .milliseconds(20))
        stage.draft.change { $0.state = .queued }
        #expect(await removal == 0)
        #expect(stage.drafts.all.isEmpty && stage.draft.state == .removed)
        await stage.fixture.end()
    }

    @Test("draft changes reach tree and kernel")
    func changes() async throws {
        let stage = try await Scene()
        let notices = Lock<[String]>([])
        stage.fileSystem.tellKernel { notice in notices.withLock { $0.append("\(notice)") } }
        stage.drafts.tell(.changed(stage.draft))
        try await wait(until: "the kernel is told") { notices.withLock { $0.count } == 1 }
        stage.draft.change { $0.state = .recovered }
        stage.drafts.tell(.recovered(stage.draft))
        try await wait(until: "it has moved") {
            (try? stage.fixture.id(".chatfs/recovered/a.txt")) != nil
        }
        #expect((try? stage.fixture.id("bob/a.txt")) == nil)
        // Both folders changed.
        try await wait(until: "the kernel is told of both") { notices.withLock { $0.count } == 3 }
        stage.drafts.tell(.removed(stage.draft))
        try await wait(until: "it is gone") { (try? stage.fixture.id(".chatfs/recovered/a.txt")) == nil }
        await stage.fixture.end()
    }

    @Test("earlier drafts are shown in their folders")
    func earlierProcess() async throws {
        let drafts = MemoryDrafts()
        for (name, state) in [("a.txt", DraftState.queued), ("b.txt", .recovered), ("c.txt", .unsure)] {
            _ = try drafts.createDraft(named: Array(name.utf8), in: FileSystemFixture.bob)
            drafts.all.last?.change { $0.state = state }
        }
        let fixture = try await Fixture.make(drafts: drafts)
        let names = { (folder: String) in
            fixture.fileSystem.entries(try fixture.id(folder)).map(\.name.description)
        }
        #expect(try names("bob") == ["a.txt", "c.txt"])
        #expect(try names(".chatfs/recovered") == ["b.txt"])
        await fixture.end()
    }
}
