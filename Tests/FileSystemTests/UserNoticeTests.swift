import Base
import ChatCore
import Glibc
import Namespace
import Posix
import TestSupport
import Testing

@testable import FileSystem

@Suite("Notices to the user")
struct UserNoticeTests {
    private typealias Fixture = FileSystemFixture

    /// Records notices.
    private final class Listener: Sendable {
        private let notices = Lock<[UserNotice]>([])

        func listen(to fileSystem: FileSystem) {
            fileSystem.tellUser { notice in self.notices.withLock { $0.append(notice) } }
        }

        /// Removes and returns the recorded notices.
        func take() -> [UserNotice] {
            notices.withLock { notices in
                defer { notices = [] }
                return notices
            }
        }

        func refusals() -> [String] {
            take().compactMap { notice in
                guard case .refused(let refusal) = notice else { return nil }
                let words = [
                    "\(refusal.request)", refusal.name, refusal.folder?.name ?? "-", refusal.sentence ?? "-",
                ]
                return words.joined(separator: "|")
            }
        }
    }

    private static func start(
        opener: Caller? = nil, status: FileStatus = .rcvComplete
    ) async throws -> (fixture: Fixture, listener: Listener, bob: NodeID) {
        let fixture = try await Fixture.make(opener: opener) {
            _ = $0.received("a.bin", in: Fixture.bob, size: 10, status: status)
        }
        let listener = Listener()
        listener.listen(to: fixture.fileSystem)
        return (fixture, listener, try fixture.id("bob"))
    }

    @Test("refusals are reported with subject and reason")
    func refusals() async throws {
        let (fixture, listener, bob) = try await Self.start()
        let files = fixture.fileSystem
        let (name, other) = (EntryName("a.bin"), EntryName("b.bin"))
        #expect(await files.rename(name, in: bob, to: other, in: bob, flags: 0).code() == EPERM)
        #expect(await files.unlink(name, in: bob).code() == EPERM)
        #expect(await files.makeFolder(EntryName(".b.bin"), in: bob).code() == EPERM)
        #expect(await files.makeFolder(other, in: .root).code() == EPERM)
        #expect(
            await files.open(try fixture.id("bob/a.bin"), flags: O_WRONLY | O_TRUNC, by: 1).code() == EPERM)
        #expect(await files.create(other, in: .root, flags: O_WRONLY).code() == EPERM)
        #expect(await files.create(other, in: try fixture.id("quiet"), flags: O_WRONLY).code() == EACCES)
        #expect(await files.create(EntryName("a.bin.part"), in: bob, flags: O_WRONLY).code() == EPERM)
        #expect(
            listener.refusals() == [
                "rename|a.bin|bob|-",
                "remove|a.bin|bob|Sent and received files stay in their chat. To free the space, use Free Up Space in the menu of "
                    + "the file manager.",
                "makeFolder|.b.bin|bob|Hidden folders are not sent: choose a name without a leading dot.",
                "makeFolder|b.bin|-|-", "overwrite|a.bin|bob|-", "create|b.bin|-|-",
                "create|b.bin|quiet|This group takes no files.",
                "create|a.bin.part|bob|The new name belongs to a file that cannot be replaced.",
            ])
        await fixture.end()
    }

    @Test("background attempts and failures are not reported")
    func silent() async throws {
        let (fixture, listener, bob) = try await Self.start()
        let files = fixture.fileSystem
        #expect(await files.makeFolder(EntryName(".Trash-1000"), in: bob).code() == EPERM)
        #expect(await files.open(try fixture.id("bob/a.bin"), flags: O_RDWR, by: 1).code() == EPERM)
        #expect(await files.unlink(EntryName("missing"), in: bob).code() == ENOENT)
        #expect(await files.create(EntryName("a.bin"), in: bob, flags: O_WRONLY | O_EXCL).code() == EEXIST)
        #expect(listener.take().isEmpty)
        files.tellUser(through: nil)
        #expect(await files.makeFolder(EntryName(".b"), in: bob).code() == EPERM)
        #expect(listener.take().isEmpty)
        await fixture.end()
    }

    @Test("a background program is reported once")
    func programs() async throws {
        let (fixture, listener, _) = try await Self.start(
            opener: Caller(executable: "/usr/bin/borg"), status: .rcvInvitation(described: true))
        for _ in 0..<3 {
            let answer = try fixture.fileSystem.open(fixture.id("bob/a.bin"), flags: O_RDONLY)
            #expect(await answer.code() == EACCES)
        }
        #expect(listener.refusals() == ["fetch(FileSystem.CallerKind.backup)|borg|-|-"])
        await fixture.end()
    }

    @Test("opening a received file is reported")
    func opened() async throws {
        for status in [FileStatus.rcvComplete, .rcvInvitation(described: true)] {
            let (fixture, listener, _) = try await Self.start(
                opener: Caller(executable: "/usr/bin/cp"), status: status)
            #expect(try await fixture.read("bob/a.bin", count: 10).count == 10)
            // If the name does not determine the type, the notice comes later.
            var told = listener.take()
            for _ in 0..<4000 where told.isEmpty {
                try await Task.sleep(for: .milliseconds(5))
                told = listener.take()
            }
            #expect(told == [.opened(ItemID(1))])
            await fixture.end()
        }
    }

    @Test("chats and entries are found by reference")
    func numbers() async throws {
        let (fixture, _, bob) = try await Self.start()
        let lister = fixture.fileSystem.lister
        #expect(lister.folder(of: Fixture.bob)?.id == bob && lister.folder(of: .group(99)) == nil)
        #expect(await lister.number(of: ItemID(1)) == (try fixture.id("bob/a.bin")))
        #expect(await lister.number(of: ItemID(99)) == nil)
        #expect(lister.number(ofDraft: 99) == nil)
        await fixture.end()
    }
}
