import Base
import ChatCore
import FileSystem
import Glibc
import Namespace
import Outbox
import TestSupport
import Testing

/// A killed daemon never sends half of a pasted folder.
// One after the other: each has an archive that is held on a thread of the pool.
@Suite("Pasted folders after a kill", .serialized, .timeLimit(.minutes(10)))
struct PastedFolderRestartTests {
    /// A mount killed with a quiet folder of two files and a half-written archive.
    private func killedWhileArchiving(quietTime: Duration = PastedStage.never) async throws -> PastedStage {
        let stage = try await PastedStage(quietTime: .milliseconds(30))
        let left = stage.copyWhenArchiving(3)
        try await stage.makeFolder("F")
        try await stage.write("one", to: "F/a")
        try await stage.write("two", to: "F/b")
        let next = try await PastedStage.mounted(on: left, quietTime: quietTime)
        await stage.end()
        return next
    }

    @Test("the next mount sends a quiet folder")
    func complete() async throws {
        let stage = try await killedWhileArchiving(quietTime: .milliseconds(30))
        try await wait(until: "the archive has taken its place") { await stage.node("F") == nil }
        #expect(stage.archiver.archived.last == ["F", "F/a", "F/b"])
        #expect(stage.drafts == ["F.zip"])
        #expect(try await stage.read(stage.id("F.zip")) == "begun F F/a F/b")
        await stage.end()
    }

    @Test("an unfinished folder needs a change or retry")
    func incomplete() async throws {
        let first = try await PastedStage()
        try await first.makeFolder("F")
        try await first.write("one", to: "F/a")
        let stage = try await first.killed(quietTime: .milliseconds(30))
        let problem = try #require(await stage.problem("F"))
        #expect(problem.hasPrefix("ChatFS stopped before this folder was known to be complete"))
        // However often it is killed.
        let again = try await stage.killed(quietTime: .milliseconds(30))
        #expect(await again.problem("F") == problem)
        #expect(again.archiver.archived.isEmpty && again.drafts == ["F/a"])
        let retry = again.fileSystem.setExtendedAttribute(
            "user.chatfs.retry", [], of: try await again.id("F"))
        #expect(await retry.code() == 0)
        try await wait(until: "it is sent as it is") { await again.node("F.zip") != nil }
        for stage in [first, stage, again] { await stage.end() }
    }

    /// A change of a complete folder before the second kill.
    enum Change: CaseIterable {
        case anotherFile, emptyFile, folder, nameOfFile, nameOfFolder, fileLess, content, length

        func make(on stage: PastedStage) async throws {
            switch self {
            case .anotherFile: try await stage.write("three", to: "F/c")
            case .emptyFile: stage.fileSystem.release(try await stage.create("F/c"))
            case .folder: #expect(try await stage.makeFolder("F/sub") == 0)
            case .nameOfFile: #expect(try await stage.rename("F/a", to: "F/c") == 0)
            case .nameOfFolder: #expect(try await stage.rename("F", to: "G") == 0)
            case .fileLess: #expect(try await stage.unlink("F/b") == 0)
            case .content:
                let handle = try await stage.fileSystem.open(stage.id("F/a"), flags: O_WRONLY | O_TRUNC)
                    .value()
                try stage.write("new", through: handle)
                stage.fileSystem.flush(handle, by: getpid())
                stage.fileSystem.release(handle)
            case .length:
                let cut = AttributeChange(permissions: nil, changesOwner: false, size: 1, modified: nil)
                let id = try await stage.id("F/a")
                #expect(await stage.fileSystem.change(id, cut).code() == 0)
            }
        }
    }

    @Test(
        "a complete folder being changed is not sent",
        arguments: Change.allCases)
    func changedBeforeTheSecondKill(change: Change) async throws {
        let first = try await killedWhileArchiving()
        #expect(await first.problem("F") == nil, "it is complete")
        try await change.make(on: first)
        let second = try await first.killed(quietTime: .milliseconds(30))
        let name = await second.node("G") == nil ? "F" : "G"
        #expect(await second.problem(name) != nil, "\(change)")
        #expect(second.drafts.allSatisfy { !$0.hasSuffix("/") }, "\(second.drafts)")
        let third = try await second.killed(quietTime: .milliseconds(30))
        #expect(await third.problem(name) != nil, "nor after one more")
        #expect(second.archiver.archived.isEmpty && third.archiver.archived.isEmpty)
        for stage in [first, second, third] { await stage.end() }
    }

    @Test("removing a cut part does not complete")
    func recoveredPartRemoved() async throws {
        let first = try await killedWhileArchiving()
        let handle = try await first.create("F/c")
        try first.write("cut off", through: handle)
        let second = try await first.killed()
        #expect(await second.problem("F") != nil)
        #expect(await second.recovered() == ["c"])
        #expect(await second.fileSystem.unlink(EntryName("c"), in: .recovered).code() == 0)
        let third = try await second.killed(quietTime: .milliseconds(30))
        #expect(await third.problem("F") != nil, "nothing says that it is complete")
        #expect(await third.recovered() == [] && third.archiver.archived.isEmpty)
        first.fileSystem.release(handle)
        for stage in [first, second, third] { await stage.end() }
    }

    @Test("a change during archiving withdraws completeness")
    func changedWhileArchiving() async throws {
        let stage = try await PastedStage(quietTime: .milliseconds(30))
        stage.archiver.hold()
        try await stage.makeFolder("F")
        try await stage.write("one", to: "F/a")
        try await wait(until: "the archive is begun") { stage.archiver.archived.last?.count == 2 }
        #expect(stage.drafts == ["F/a", "F/"])
        // Open, so the folder is incomplete.
        let handle = try await stage.create("F/b")
        #expect(!stage.drafts.contains("F/"), "what was begun says nothing any more")
        let next = try await stage.killed(quietTime: .milliseconds(30))
        #expect(await next.problem("F") != nil && next.archiver.archived.isEmpty)
        stage.fileSystem.release(handle)
        stage.archiver.release()
        try await wait(until: "all of it is sent") { await stage.node("F.zip") != nil }
        #expect(stage.archiver.archived.last == ["F", "F/a", "F/b"])
        for stage in [stage, next] { await stage.end() }
    }

    @Test("a refused change does not complete")
    func refusedChange() async throws {
        let first = try await PastedStage()
        var path = "F"
        #expect(try await first.makeFolder(path) == 0)
        for _ in 0..<15 {
            path += "/" + String(repeating: "x", count: 255)
            #expect(try await first.makeFolder(path) == 0)
        }
        try await first.write("one", to: path + "/" + String(repeating: "y", count: 250))
        let stage = try await first.killed(quietTime: .milliseconds(30))
        let problem = try #require(await stage.problem("F"))
        #expect(try await stage.rename("F", to: String(repeating: "G", count: 200)) == ENAMETOOLONG)
        let (folder, long) = (try await stage.id(path), EntryName(String(repeating: "z", count: 255)))
        let made = await stage.fileSystem.create(long, in: folder, flags: O_WRONLY | O_CREAT).code()
        #expect(made == ENAMETOOLONG)
        #expect(await stage.problem("F") == problem)
        #expect(stage.archiver.archived.isEmpty && stage.drafts.count == 1)
        // truncate(2) opens no handle whose release would report the change.
        let cut = AttributeChange(permissions: nil, changesOwner: false, size: 1, modified: nil)
        let part = try await stage.id(path + "/" + String(repeating: "y", count: 250))
        #expect(await stage.fileSystem.change(part, cut).code() == 0)
        try await wait(until: "it goes on with a change that was made") { await stage.node("F.zip") != nil }
        for stage in [first, stage] { await stage.end() }
    }

    @Test(
        "a part rewritten during hand-over prevents completeness",
        arguments: [false, true])
    func changedWhileItIsReplaced(isChanged: Bool) async throws {
        let first = try await PastedStage()
        #expect(try await first.makeFolder("F") == 0)
        try await first.write("one", to: "F/a")
        // Later changes cannot withdraw this copy of the archive.
        let archive = try first.outbox.create(
            part: PartPath(archiveOf: Array("F".utf8)), in: FileSystemFixture.bob)
        try Array("all of it".utf8).withUnsafeBytes {
            try archive.write($0, at: 0, through: .ofItsMaker, by: 0)
        }
        archive.flushed(.ofItsMaker, by: 0)
        archive.closed(.ofItsMaker)
        if isChanged {
            let handle = try await first.fileSystem.open(first.id("F/a"), flags: O_WRONLY).value()
            try first.write("two", through: handle)
            first.fileSystem.flush(handle, by: getpid())
            first.fileSystem.release(handle)
        }
        let second = try await first.killed()
        let problem = await second.problem("F")
        #expect((problem != nil) == isChanged)
        #expect(second.drafts.contains("F/") != isChanged)
        for stage in [first, second] { await stage.end() }
    }

    @Test("an irremovable mark prevents changes")
    func archiveThatStays() async throws {
        let drafts = MemoryDrafts()
        // The archive's id lies in the middle: later parts are not in it.
        for name in ["a", "", "b"] {
            let path = PartPath([Array("F".utf8), Array(name.utf8)])
            try drafts.createPart(path, in: FileSystemFixture.bob).closed(.ofItsMaker)
        }
        drafts.fail(.remove, with: OutboxError(.storage, "The disk failed."))
        let fixture = try await FileSystemFixture.make(drafts: drafts)
        let (fs, folder) = (fixture.fileSystem, try fixture.id("bob/F"))
        #expect(drafts.all.map(\.id) == [1, 2, 3])
        #expect(await fs.makeFolder(EntryName("sub"), in: folder).code() == EIO)
        drafts.fail(.remove, with: nil)
        #expect(await fs.makeFolder(EntryName("sub"), in: folder).code() == 0)
        #expect(drafts.all.map(\.id) == [1, 3], "it went before the change")
        await fixture.end()
    }

    @Test("an orphaned archive is removed")
    func archiveOfNothing() async throws {
        let first = try await killedWhileArchiving()
        #expect(try await first.unlink("F/a") == 0)
        #expect(try await first.unlink("F/b") == 0)
        let second = try await first.killed()
        #expect(second.drafts.isEmpty && second.outbox.drafts().isEmpty)
        #expect(try await second.list("") == [])
        for stage in [first, second] { await stage.end() }
    }

    @Test("mounts without folder sending keep old folders")
    func withoutArchives() async throws {
        let first = try await PastedStage()
        try await first.makeFolder("F")
        try await first.makeFolder("F/deep")
        try await first.write("one", to: "F/deep/a")
        let second = try await first.killed()
        #expect(try await second.list("F/deep") == ["a"])
        #expect(try await second.read(second.id("F/deep/a")) == "one")
        // Empty folders last for one mount.
        #expect(try await second.makeFolder("F/empty") == 0)
        let third = try await second.killed()
        #expect(try await third.list("F") == ["deep"])
        for stage in [first, second, third] { await stage.end() }
    }
}
