import Base
import ChatCore
import FileSystem
import Glibc
import Namespace
import Outbox
import TestSupport
import Testing

/// Every refusal in a pasted folder.
@Suite("Changes in pasted folders", .serialized, .timeLimit(.minutes(10)))
struct PastedFolderChangeTests {
    @Test("folders can be created where sending is possible")
    func where_() async throws {
        let refusing = try await PastedStage(policy: .refuse)
        #expect(try await refusing.makeFolder("F") == EPERM)
        await refusing.end()
        let stage = try await PastedStage()
        let fs = stage.fileSystem
        #expect(await fs.makeFolder(EntryName("F"), in: .root).code() == EPERM)
        #expect(await fs.makeFolder(EntryName("F"), in: .control).code() == EPERM)
        #expect(await fs.makeFolder(EntryName("F"), in: .recovered).code() == EPERM)
        let silent = try #require(stage.names.node(of: FileSystemFixture.silent)?.id)
        #expect(await fs.makeFolder(EntryName("F"), in: silent).code() == EACCES)
        for name in [".Trash", ".Trash-1000"] { #expect(try await stage.makeFolder(name) == EPERM) }
        #expect(await fs.makeFolder(EntryName([0xFF]), in: stage.bob).code() == EILSEQ)
        let long = EntryName(String(repeating: "a", count: 256))
        #expect(await fs.makeFolder(long, in: stage.bob).code() == ENAMETOOLONG)
        #expect(try await stage.list("") == [] && stage.drafts == [])
        await stage.end()
    }

    @Test("names are unique and depth is limited")
    func limits() async throws {
        let stage = try await PastedStage()
        var path = "1"
        #expect(try await stage.makeFolder(path) == 0)
        for depth in 2...32 {
            path += "/\(depth)"
            #expect(try await stage.makeFolder(path) == 0)
        }
        #expect(try await stage.makeFolder(path + "/33") == ELOOP)
        // The deepest folder can contain a file.
        try await stage.write("deep", to: path + "/file")
        #expect(try await stage.makeFolder(path + "/file") == EEXIST)
        #expect(try await stage.makeFolder("1/2") == EEXIST)
        // A move cannot exceed the depth either.
        #expect(try await stage.makeFolder("1/other") == 0)
        #expect(try await stage.makeFolder("1/other/sub") == 0)
        #expect(try await stage.rename("1/other", to: path + "/other") == ELOOP)
        #expect(try await stage.rename("1/other/sub", to: "1/sub") == 0)
        #expect(try await stage.list("1") == ["2", "other", "sub"])
        await stage.end()
    }

    @Test("moves stay within the pasted folder")
    func moving() async throws {
        let stage = try await PastedStage()
        for folder in ["F", "F/full", "F/empty", "G"] { #expect(try await stage.makeFolder(folder) == 0) }
        for file in ["F/a", "F/full/b", "G/c", "top"] { try await stage.write(file, to: file) }
        let refused: [(String, String, UInt32, Int32)] = [
            ("F/a", "G/a", 0, EPERM), ("F/a", "a", 0, EPERM), ("top", "F/top", 0, EPERM),
            ("F/full", "full", 0, EPERM), ("G", "F/G", 0, EPERM), ("F/none", "F/x", 0, ENOENT),
            ("F/a", "F/empty", 0, EISDIR), ("F/empty", "F/a", 0, ENOTDIR),
            ("F/empty", "F/full", 0, ENOTEMPTY),
            ("F/a", "F/full/b", 1, EEXIST), ("F/a", "F/full/b", 2, EINVAL), ("F", "G", 0, ENOTEMPTY),
            ("F/a", "F/\(String(repeating: "n", count: 256))", 0, ENAMETOOLONG),
        ]
        for (from, to, flags, code) in refused {
            #expect(try await stage.rename(from, to: to, flags: flags) == code, "\(from) to \(to)")
        }
        #expect(try await stage.list("F") == ["a", "empty", "full"])
        #expect(try await stage.rename("F/a", to: "F/a") == 0)
        #expect(try await stage.rename("F/full", to: "F/empty") == 0)
        #expect(try await stage.list("F") == ["a", "empty"])
        #expect(try await stage.rename("F/a", to: "F/empty/b") == 0)
        #expect(try await stage.read(stage.id("F/empty/b")) == "F/a")
        #expect(stage.drafts.sorted() == ["F/empty/b", "G/c", "top"])
        await stage.end()
    }

    @Test("unlink and rmdir respect kinds and emptiness")
    func removing() async throws {
        let stage = try await PastedStage()
        for folder in ["F", "F/sub"] { #expect(try await stage.makeFolder(folder) == 0) }
        try await stage.write("x", to: "F/sub/a")
        #expect(try await stage.unlink("F") == EISDIR)
        #expect(try await stage.unlink("F/sub") == EISDIR)
        #expect(try await stage.unlink("F/none") == ENOENT)
        #expect(try await stage.removeFolder("F") == ENOTEMPTY)
        #expect(try await stage.removeFolder("F/sub/a") == ENOTDIR)
        #expect(try await stage.removeFolder("F/none") == ENOENT)
        #expect(await stage.fileSystem.removeFolder(EntryName("bob"), in: .root).code() == EPERM)
        #expect(try await stage.unlink("F/sub/a") == 0)
        #expect(try await stage.removeFolder("F/sub") == 0)
        #expect(try await stage.removeFolder("F") == 0)
        #expect(try await stage.list("") == [] && stage.drafts == [])
        await stage.end()
    }

    @Test("creating in a removed folder fails cleanly")
    func gone() async throws {
        let stage = try await PastedStage()
        #expect(try await stage.makeFolder("F") == 0)
        let folder = try await stage.id("F")
        #expect(try await stage.removeFolder("F") == 0)
        let fs = stage.fileSystem
        #expect(await fs.makeFolder(EntryName("x"), in: folder).code() == ESTALE)
        #expect(await fs.create(EntryName("x"), in: folder, flags: O_WRONLY).code() == ESTALE)
        #expect(await fs.lookup(EntryName("x"), in: folder).code() == ENOENT)
        #expect(stage.drafts == [])
        await stage.end()
    }

    @Test("a removed open part stays readable, unsent")
    func removedWhileOpen() async throws {
        let stage = try await PastedStage(quietTime: .milliseconds(30))
        stage.archiver.hold()
        #expect(try await stage.makeFolder("F") == 0)
        try await stage.write("stays", to: "F/a")
        let handle = try await stage.create("F/b", flags: O_RDWR | O_CREAT)
        try stage.write("goes", through: handle)
        #expect(try await stage.unlink("F/b") == 0)
        try stage.write("!", through: handle, at: 4)
        stage.archiver.release()
        stage.fileSystem.release(handle)
        try await wait(until: "the rest is archived") { await stage.node("F.zip") != nil }
        #expect(stage.archiver.archived.last == ["F", "F/a"])
        await stage.end()
    }

    @Test("only stopped folders can be retried")
    func attributes() async throws {
        let stage = try await PastedStage()
        #expect(try await stage.makeFolder("F") == 0)
        #expect(await stage.attribute("user.chatfs.state", of: "F") == "draft")
        #expect(await stage.problem("F") == nil)
        let id = try await stage.id("F")
        let shown = try #require(try? stage.fileSystem.attributes(id).get())
        #expect(shown.isFolder && shown.permissions == 0o700 && shown.size == 0)
        #expect(await stage.fileSystem.setExtendedAttribute("user.chatfs.retry", [], of: id).code() == EPERM)
        // rsync and tar set a folder's time and mode: accepted without effect. A size is refused.
        let touch = AttributeChange(
            permissions: 0o755, changesOwner: false, size: nil, modified: .at(Timestamp(seconds: 5)))
        #expect(await stage.fileSystem.change(id, touch).code() == 0)
        #expect(try stage.fileSystem.attributes(id).get().modified != Timestamp(seconds: 5))
        let cut = AttributeChange(permissions: nil, changesOwner: false, size: 0, modified: nil)
        #expect(await stage.fileSystem.change(id, cut).code() == EPERM)
        #expect(await stage.fileSystem.open(id, flags: O_RDONLY).code() == EISDIR)
        await stage.end()
    }

    @Test("a cut part stops the folder")
    func incompletePart() async throws {
        let stage = try await PastedStage(quietTime: .milliseconds(30))
        #expect(try await stage.makeFolder("F") == 0)
        let handle = try await stage.create("F/a")
        try stage.write("part", through: handle)
        // Beyond the chat's limit: EFBIG cuts the file, like a full disk.
        let failed = [UInt8]([1]).withUnsafeBytes {
            stage.fileSystem.write(handle, $0, at: FilePolicy.xftpLimit, by: getpid())
        }
        #expect(failed.code == EFBIG)
        stage.fileSystem.release(handle)
        try await wait(until: "it says so") { await stage.problem("F") != nil }
        #expect(
            await stage.problem("F")?.hasPrefix("The folder is not sent, since a file in it is incomplete.")
                == true)
        #expect(stage.archiver.archived.isEmpty)
        let again = try await stage.fileSystem.open(stage.id("F/a"), flags: O_WRONLY | O_TRUNC).value()
        try stage.write("whole", through: again)
        stage.fileSystem.release(again)
        try await wait(until: "it is sent") { await stage.node("F.zip") != nil }
        await stage.end()
    }

    @Test("a part replaced by its archive takes no bytes")
    func replacedPart() async throws {
        let stage = try await PastedStage(quietTime: .milliseconds(50))
        #expect(try await stage.makeFolder("F") == 0)
        stage.archiver.hold()
        try await stage.write("one", to: "F/a")
        let part = try await stage.id("F/a")
        try await wait(until: "the archive is begun") { !stage.archiver.archived.isEmpty }
        stage.archiver.release()
        try await wait(until: "it replaces the folder") { try await stage.list("") == ["F.zip"] }
        // The kernel still has the name.
        #expect(await stage.fileSystem.open(part, flags: O_WRONLY).code() == ESTALE)
        #expect(try await stage.read(part) == "one")
        await stage.end()
    }

    @Test("archives delay no other request")
    func slowArchives() async throws {
        let stage = try await PastedStage(quietTime: .milliseconds(50))
        stage.archiver.hold()
        for number in 0..<12 {
            #expect(try await stage.makeFolder("F\(number)") == 0)
            try await stage.write("one", to: "F\(number)/a")
        }
        try await wait(until: "archives are begun") { stage.archiver.archived.count > 1 }
        for number in 0..<20 {
            let answer = stage.fileSystem.create(
                EntryName("file \(number)"), in: stage.bob, flags: O_WRONLY)
            let creation = Task { try await answer.value().1 }
            guard case .success(let handle)? = await creation.result(within: .seconds(20)) else {
                Issue.record("file \(number) waits for the archives")
                break
            }
            stage.fileSystem.release(handle)
            try await Task.sleep(for: .milliseconds(20))
        }
        await stage.end()
    }

    @Test("a deleted chat removes its pasted folders")
    func chatDeleted() async throws {
        let stage = try await PastedStage()
        #expect(try await stage.makeFolder("F") == 0)
        try await stage.write("x", to: "F/a")
        stage.core.state.withLock { $0.chats.removeAll { $0.reference == FileSystemFixture.bob } }
        stage.core.tell(.chatRemoved(FileSystemFixture.bob))
        try await wait(until: "it is gone") {
            stage.names.node(of: FileSystemFixture.bob) == nil && stage.drafts == []
        }
        #expect(await stage.recovered() == [])
        await stage.end()
    }
}

extension Result where Failure == FileSystemError {
    /// The errno, 0 for success.
    fileprivate var code: Int32 {
        if case .failure(let error) = self { error.code } else { 0 }
    }
}
