import Base
import ChatCore
import FileSystem
import Glibc
import Namespace
import Outbox
import Posix
import TestSupport
import Testing

@Suite("A mount after a crash")
struct RestartTests {
    @Test("a crash between noting that a draft was sent and telling the outbox keeps nobody from mounting")
    func betweenIndexAndJournal() async throws {
        let folder = try TemporaryFolder()
        let core = ScriptedCore(
            stagingFolder: try folder.makeFolder("staging"),
            chats: [
                Chat(
                    reference: FileSystemFixture.bob, displayName: "bob", updatedAt: Timestamp(seconds: 1))
            ])
        let outboxFolder = try PrivateFolder(folder.path("outbox"), purpose: "outbox")
        let index = folder.path("names.sqlite")
        do {
            // What a mount does to send a file, up to the moment before the outbox is told.
            let names = try Namespace(path: index)
            _ = try names.show(try await core.chats())
            let outbox = try Outbox(core: core, folder: outboxFolder, quietTime: .zero)
            var changes = outbox.changes().makeAsyncIterator()
            outbox.start()
            let draft = try outbox.create(name: Array("a.txt".utf8), in: FileSystemFixture.bob)
            let chat = try #require(names.node(of: FileSystemFixture.bob)?.id)
            _ = try names.show(draft: DraftID(draft.id), named: EntryName("a.txt"), in: chat)
            try [UInt8]("hello".utf8).withUnsafeBytes {
                try draft.write($0, at: 0, through: .ofItsMaker, by: 0)
            }
            draft.closed(.ofItsMaker)
            var item: ChatItem?
            while item == nil, let change = await changes.next() {
                if case .became(_, let sent) = change { item = sent }
            }
            _ = try names.draft(
                DraftID(draft.id), became: try #require(item), modified: draft.snapshot.modified)
            await outbox.shutDown()
        }
        let outbox = try Outbox(core: core, folder: outboxFolder, quietTime: .zero)
        #expect(outbox.drafts().map(\.state) == [.sent])
        let fileSystem = FileSystem(
            names: try Namespace(path: index), contents: MemoryContents(), outbox: outbox, core: core,
            settings: FileSystem.Settings(
                cacheDisk: try OpenFile(folder.path, flags: O_RDONLY), mountpoint: "/mnt"))
        let pump = try await fileSystem.begin()
        outbox.start()
        try await wait(until: "the outbox has been told") { outbox.drafts().isEmpty }
        let chat = try await fileSystem.lookup(EntryName("bob"), in: .root).value().id
        #expect(fileSystem.entries(chat).map(\.name) == [EntryName("a.txt")])
        await outbox.shutDown()
        await pump.finish()
    }
}
