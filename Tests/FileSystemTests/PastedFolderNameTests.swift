import Base
import ChatCore
import FileSystem
import Glibc
import Namespace
import Outbox
import TestSupport
import Testing

/// Conflicts of names between pasted folders and other entries.
@Suite("Names of pasted folders", .timeLimit(.minutes(10)))
struct PastedFolderNameTests {
    private func arrive(_ name: String, _ stage: PastedStage, chat: ChatReference = FileSystemFixture.bob)
        async throws -> ChatItem
    {
        let item = stage.core.received(name, in: chat, size: 3)
        stage.core.tell(.newChatItems([item]))
        try await wait(until: "\(name) has arrived") { stage.names.node(of: item.id) != nil }
        return item
    }

    private func shown(_ item: ChatItem, _ stage: PastedStage) -> String? {
        stage.names.node(of: item.id)?.name.description
    }

    @Test("an arriving file gets another name")
    func arrival() async throws {
        let stage = try await PastedStage()
        #expect(try await stage.makeFolder("Holiday") == 0)
        try await stage.write("sea", to: "Holiday/a")
        let folder = try await stage.id("Holiday")
        let first = try await arrive("Holiday", stage)
        let second = try await arrive("Holiday", stage)
        #expect(shown(first, stage) == "Holiday (2)" && shown(second, stage) == "Holiday (3)")
        #expect(try await stage.id("Holiday") == folder)
        #expect(try await stage.list("Holiday") == ["a"])
        #expect(try await stage.list("") == ["Holiday", "Holiday (2)", "Holiday (3)"])
        // Only the whole name in this chat is reserved.
        #expect(shown(try await arrive("Holidays", stage), stage) == "Holidays")
        #expect(
            shown(try await arrive("Holiday", stage, chat: FileSystemFixture.silent), stage) == "Holiday")
        await stage.end()
    }

    @Test("the folder's name is free afterwards")
    func freed() async throws {
        let stage = try await PastedStage()
        #expect(try await stage.makeFolder("F") == 0)
        #expect(try await stage.removeFolder("F") == 0)
        #expect(shown(try await arrive("F", stage), stage) == "F")
        #expect(try await stage.makeFolder("F") == EEXIST)
        #expect(try await stage.makeFolder("G") == 0)
        #expect(try await stage.rename("G", to: "H") == 0)
        #expect(shown(try await arrive("G", stage), stage) == "G")
        #expect(shown(try await arrive("H", stage), stage) == "H (2)")
        await stage.end()
    }

    @Test("files arrived while unmounted do not hide it")
    func arrivedBetweenMounts() async throws {
        let first = try await PastedStage()
        #expect(try await first.makeFolder("F") == 0)
        try await first.write("one", to: "F/a")
        let second = try await first.killed()
        let item = try await arrive("F", second)
        #expect(shown(item, second) == "F (2)")
        #expect(try await second.list("F") == ["a"])
        for stage in [first, second] { await stage.end() }
    }

    @Test("concurrent folders and files get distinct names")
    func atOnce() async throws {
        let stage = try await PastedStage()
        let (fs, chat, core) = (stage.fileSystem, stage.bob, stage.core)
        let items = Lock<[ItemID]>([])
        let made = await withTaskGroup(of: Int32.self) { group in
            for number in 0..<20 {
                let name = "n\(number % 10)"
                group.addTask { await fs.makeFolder(EntryName(name), in: chat).code() }
                group.addTask {
                    let item = core.received(name, in: FileSystemFixture.bob, size: 1)
                    items.withLock { $0.append(item.id) }
                    core.tell(.newChatItems([item]))
                    return 0
                }
            }
            return await group.reduce(into: [Int32: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(Set(made.keys).isSubset(of: [0, EEXIST]))
        try await wait(until: "all have arrived") {
            items.withLock { $0 }.allSatisfy { stage.names.node(of: $0) != nil }
        }
        let all = try await stage.list("")
        #expect(Set(all).count == all.count, "\(all)")
        // Each name leads to one entry, and none hides another.
        for entry in fs.entries(chat) {
            #expect(await stage.node(entry.name.description) == entry.id, "\(entry.name)")
        }
        await stage.end()
    }

    @Test("drafts, folders and archives have distinct names")
    func drafts() async throws {
        let stage = try await PastedStage()
        #expect(try await stage.makeFolder("F") == 0)
        let (chat, fs) = (stage.bob, stage.fileSystem)
        #expect(await fs.create(EntryName("F"), in: chat, flags: O_WRONLY | O_CREAT).code() == EISDIR)
        #expect(
            await fs.create(EntryName("F"), in: chat, flags: O_WRONLY | O_CREAT | O_EXCL).code() == EEXIST)
        try await stage.write("x", to: "draft")
        #expect(try await stage.makeFolder("draft") == EEXIST)
        #expect(try await stage.rename("draft", to: "F") == EPERM)
        #expect(try await stage.rename("F", to: "draft") == EPERM)
        #expect(try await stage.rename("F", to: "draft", flags: 1) == EEXIST)
        #expect(try await stage.list("") == ["F", "draft"])
        await stage.end()
    }

    @Test("a rename to a too long path fails")
    func tooLong() async throws {
        let stage = try await PastedStage()
        #expect(try await stage.makeFolder("F") == 0)
        try await stage.write("first", to: "F/a")
        var path = "F"
        for _ in 0..<15 {
            path += "/" + String(repeating: "x", count: 255)
            #expect(try await stage.makeFolder(path) == 0)
        }
        try await stage.write("deep", to: path + "/" + String(repeating: "y", count: 250))
        try await stage.write("last", to: "F/z")
        let before = stage.drafts
        let long = String(repeating: "G", count: 200)
        #expect(try await stage.rename("F", to: long) == ENAMETOOLONG)
        #expect(stage.drafts == before)
        #expect(try await stage.list("") == ["F"])
        // A kill does not duplicate it.
        let next = try await stage.killed()
        #expect(try await next.list("") == ["F"])
        #expect(try await next.list("F").count == 3)
        #expect(try await next.rename("F", to: "G") == 0)
        let last = try await next.killed()
        #expect(try await last.list("") == ["G"])
        #expect(try await last.list("G").count == 3)
        for stage in [stage, next, last] { await stage.end() }
    }

    @Test("a rename is atomic across a kill")
    func renamed() async throws {
        let stage = try await PastedStage()
        for folder in ["F", "F/sub", "F/sub/deep"] { #expect(try await stage.makeFolder(folder) == 0) }
        for file in ["F/a", "F/sub/b", "F/sub/deep/c"] { try await stage.write(file, to: file) }
        #expect(try await stage.rename("F/sub", to: "F/other") == 0)
        #expect(try await stage.rename("F", to: "G") == 0)
        #expect(stage.drafts == ["G/a", "G/other/b", "G/other/deep/c"])
        let next = try await stage.killed()
        #expect(try await next.list("") == ["G"])
        #expect(try await next.list("G") == ["a", "other"])
        #expect(try await next.read(next.id("G/other/deep/c")) == "F/sub/deep/c")
        for stage in [stage, next] { await stage.end() }
    }

    @Test("parts created during renames survive a kill")
    func madeWhileRenamed() async throws {
        let stage = try await PastedStage()
        #expect(try await stage.makeFolder("n0") == 0)
        let (fs, chat, folder) = (stage.fileSystem, stage.bob, try await stage.id("n0"))
        let codes = await withTaskGroup(of: Int32.self) { group in
            for number in 0..<40 {
                group.addTask {
                    let name = EntryName("f\(number)")
                    guard let made = try? await fs.create(name, in: folder, flags: O_WRONLY | O_CREAT).value()
                    else { return -1 }
                    fs.release(made.1)
                    return 0
                }
            }
            group.addTask {
                for number in 0..<40 {
                    let (old, new) = (EntryName("n\(number)"), EntryName("n\(number + 1)"))
                    let code = await fs.rename(old, in: chat, to: new, in: chat, flags: 0).code()
                    if code != 0 { return code }
                }
                return 0
            }
            return await group.reduce(into: Set<Int32>()) { _ = $0.insert($1) }
        }
        #expect(codes == [0])
        #expect(stage.drafts.count == 40 && stage.drafts.allSatisfy { $0.hasPrefix("n40/") })
        let next = try await stage.killed()
        #expect(try await next.list("") == ["n40"])
        #expect(try await next.list("n40").count == 40)
        for stage in [stage, next] { await stage.end() }
    }

    @Test("a part may replace another part")
    func replaced() async throws {
        let stage = try await PastedStage()
        #expect(try await stage.makeFolder("F") == 0)
        try await stage.write("old", to: "F/a")
        try await stage.write("new", to: "F/.a.tmp")
        #expect(try await stage.rename("F/.a.tmp", to: "F/a", flags: 1) == EEXIST)
        #expect(try await stage.rename("F/.a.tmp", to: "F/a") == 0)
        #expect(try await stage.list("F") == ["a"] && stage.drafts == ["F/a"])
        #expect(try await stage.read(stage.id("F/a")) == "new")
        let handle = try await stage.create("F/open")
        try stage.write("12", through: handle)
        #expect(try await stage.rename("F", to: "G") == 0)
        try stage.write("34", through: handle, at: 2)
        stage.fileSystem.release(handle)
        #expect(try await stage.read(stage.id("G/open")) == "1234")
        await stage.end()
    }
}
