import Base
import ChatCore
import FileSystem
import Glibc
import Namespace
import Outbox
import Posix
import TestSupport
import Testing

@Suite("Mounting after a crash")
struct RestartTests {
    @Test("a crash before acknowledging a draft is repaired")
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
            // Sends a file up to the moment before the outbox is told.
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
                DraftID(draft.id), became: try #require(item), named: EntryName("a.txt"),
                modified: draft.snapshot.modified)
            await outbox.shutDown()
        }
        let outbox = try Outbox(core: core, folder: outboxFolder, quietTime: .zero)
        #expect(outbox.drafts().map(\.state) == [.sent])
        let fileSystem = FileSystem(
            names: try Namespace(path: index), contents: MemoryContents(), outbox: outbox, core: core,
            settings: FileSystemSettings(
                cacheDisk: try OpenFile(folder.path, flags: O_RDONLY), mountpoint: "/mnt"))
        let pump = try await fileSystem.begin()
        outbox.start()
        try await wait(until: "the outbox has been told") { outbox.drafts().isEmpty }
        let chat = try await fileSystem.lookup(EntryName("bob"), in: .root).value().id
        #expect(fileSystem.entries(chat).map(\.name) == [EntryName("a.txt")])
        await outbox.shutDown()
        await pump.finish()
    }

    /// Mounts the leftovers of earlier mounts in `folder`. Returns the drafts' contents by name in bob's folder.
    private func mounted(_ folder: TemporaryFolder, _ core: ScriptedCore) async throws -> [String: String] {
        let outbox = try Outbox(
            core: core, folder: PrivateFolder(folder.path("outbox"), purpose: "outbox"),
            quietTime: .seconds(3600))
        let names = try Namespace(path: folder.path("names.sqlite"))
        let fileSystem = FileSystem(
            names: names, contents: MemoryContents(), outbox: outbox, core: core,
            settings: FileSystemSettings(
                cacheDisk: try OpenFile(folder.path, flags: O_RDONLY), mountpoint: "/mnt"))
        let pump = try await fileSystem.begin()
        let chat = try await fileSystem.lookup(EntryName("bob"), in: .root).value().id
        var found: [String: String] = [:]
        for entry in fileSystem.entries(chat) {
            guard let id = names.child(entry.name, of: chat), case .draft(let draft) = id.content else {
                continue
            }
            found[entry.name.description] = try outbox.draft(draft.rawValue).map(Self.text)
        }
        // Killed, so nothing is sent.
        withExtendedLifetime(pump) {}
        fileSystem.close()
        outbox.close()
        return found
    }

    private static func text(_ draft: Draft) throws -> String {
        var bytes = [UInt8](repeating: 0, count: 100)
        let count = try bytes.withUnsafeMutableBytes { try draft.read(into: $0, at: 0) }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    private func core(_ folder: TemporaryFolder) throws -> ScriptedCore {
        ScriptedCore(
            stagingFolder: try folder.makeFolder("staging"),
            chats: [
                Chat(
                    reference: FileSystemFixture.bob, displayName: "bob", updatedAt: Timestamp(seconds: 1))
            ])
    }

    /// Creates closed drafts named after their content in outbox and index, runs `body`, and kills the process.
    private func killed(
        _ folder: TemporaryFolder, _ core: ScriptedCore, drafts: [String],
        after body: (Outbox, Namespace, [Draft]) throws -> Void
    ) async throws {
        let names = try Namespace(path: folder.path("names.sqlite"))
        _ = try names.show(try await core.chats())
        let outbox = try Outbox(
            core: core, folder: PrivateFolder(folder.path("outbox"), purpose: "outbox"),
            quietTime: .seconds(3600))
        let chat = try #require(names.node(of: FileSystemFixture.bob)?.id)
        let made = try drafts.map { text in
            let draft = try outbox.create(name: Array(text.utf8), in: FileSystemFixture.bob)
            _ = try names.show(draft: DraftID(draft.id), named: EntryName(text), in: chat)
            try Array(text.utf8).withUnsafeBytes { try draft.write($0, at: 0, through: .ofItsMaker, by: 0) }
            draft.closed(.ofItsMaker)
            return draft
        }
        try body(outbox, names, made)
        names.close()
        outbox.close()
    }

    @Test("the outbox's name wins after a kill")
    func withinARename() async throws {
        let folder = try TemporaryFolder()
        let core = try core(folder)
        try await killed(folder, core, drafts: ["letter.txt", ".letter.tmp"]) { outbox, _, drafts in
            try outbox.rename(drafts[1], to: Array("letter.txt".utf8))
        }
        #expect(try await mounted(folder, core) == ["letter.txt": ".letter.tmp"])
        #expect(try await mounted(folder, core) == ["letter.txt": ".letter.tmp"])
    }

    @Test("lost renames are repaired in any order")
    func afterManyRenames() async throws {
        let folder = try TemporaryFolder()
        let core = try core(folder)
        try await killed(folder, core, drafts: ["a", "b", "c", "d"]) { outbox, _, drafts in
            // Renames to names of other drafts, and in a circle.
            let moves = [(2, "e"), (1, "c"), (0, "b"), (3, "tmp"), (2, "d"), (3, "e")]
            for (number, name) in moves { try outbox.rename(drafts[number], to: Array(name.utf8)) }
        }
        #expect(try await mounted(folder, core) == ["b": "a", "c": "b", "d": "c", "e": "d"])
        // In a circle no name ever becomes free.
        let other = try TemporaryFolder()
        try await killed(other, core, drafts: ["a", "b"]) { outbox, _, drafts in
            for (number, name) in [(0, "tmp"), (1, "a"), (0, "b")] {
                try outbox.rename(drafts[number], to: Array(name.utf8))
            }
        }
        #expect(try await mounted(other, core).values.sorted() == ["a", "b"])
    }

    @Test("a draft may reuse a lost deletion's name")
    func afterALostDeletion() async throws {
        let folder = try TemporaryFolder()
        let core = try core(folder)
        let item = core.received("x", in: FileSystemFixture.bob, size: 5)
        try await killed(folder, core, drafts: []) { outbox, names, _ in
            try names.complete(FileSystemFixture.bob, with: [item])
            let draft = try outbox.create(name: Array("x".utf8), in: FileSystemFixture.bob)
            try Array("new".utf8).withUnsafeBytes { try draft.write($0, at: 0, through: .ofItsMaker, by: 0) }
            draft.closed(.ofItsMaker)
        }
        // If the file exists after all, the draft is shown beside it.
        #expect(try await mounted(folder, core) == ["x (2)": "new"])
        core.state.withLock { $0.items = [] }
        #expect(try await mounted(folder, core) == ["x": "new"])
    }
}
