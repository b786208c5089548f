import Base
import ChatCore
import FileSystem
import Glibc
import Namespace
import Outbox
import TestSupport
import Testing

/// Unsent drafts survive the deletion of their chat while unmounted.
@Suite("Drafts of deleted chats", .serialized, .timeLimit(.minutes(10)))
struct DeletedChatTests {
    private static let gone = ChatError(.noSuchChat, "There is no such chat.")

    @Test("drafts and parts move to the recovered folder")
    func recovered() async throws {
        let first = try await PastedStage()
        try await first.write("to bob", to: "letter.txt")
        #expect(try await first.makeFolder("F") == 0)
        try await first.write("in a folder", to: "F/a.txt")
        #expect(try await first.makeFolder("F/sub") == 0)
        try await first.write("deeper", to: "F/sub/a.txt")
        let second = try await first.killed(hasBob: false, refusal: Self.gone)
        #expect(await second.recovered() == ["a (2).txt", "a.txt", "letter.txt"])
        for (name, text) in [("letter.txt", ["to bob"]), ("a.txt", ["in a folder", "deeper"])] {
            let id = try #require(await second.node(name, below: .recovered))
            #expect(text.contains(try await second.read(id)), "\(name)")
            #expect(await second.fileSystem.open(id, flags: O_WRONLY).code() == EPERM)
        }
        try await expectUnchangeable("letter.txt", "to bob", on: second)
        // With every mount, until the user has saved it.
        let third = try await second.killed(hasBob: false, refusal: Self.gone)
        #expect(await third.recovered() == ["a (2).txt", "a.txt", "letter.txt"])
        for name in await third.recovered() {
            #expect(await third.fileSystem.unlink(EntryName(name), in: .recovered).code() == 0, "\(name)")
        }
        #expect(await third.recovered() == [] && third.drafts == [])
        let fourth = try await third.killed(hasBob: false)
        #expect(await fourth.recovered() == [])
        for stage in [first, second, third, fourth] { await stage.end() }
    }

    /// truncate(2) and chmod(2) are refused, and `stat` shows it.
    private func expectUnchangeable(_ name: String, _ text: String, on stage: PastedStage) async throws {
        let id = try #require(await stage.node(name, below: .recovered))
        #expect(try await stage.fileSystem.attributes(id).value().permissions == 0o644)
        for size in [UInt64(0), 3, 100] {
            let cut = AttributeChange(permissions: nil, changesOwner: false, size: size, modified: nil)
            #expect(await stage.fileSystem.change(id, cut).code() == EPERM, "\(size)")
        }
        let writable = AttributeChange(permissions: 0o600, changesOwner: false, size: nil, modified: nil)
        #expect(await stage.fileSystem.change(id, writable).code() == EPERM)
        #expect(try await stage.read(id) == text)
        #expect(try await stage.fileSystem.attributes(id).value().size == UInt64(text.utf8.count))
    }

    @Test("drafts refused by the core keep their reason")
    func refused() async throws {
        let first = try await PastedStage()
        try await first.write("to bob", to: "letter.txt")
        let second = try await first.killed(
            sendingAfter: .milliseconds(1), hasBob: false, refusal: Self.gone)
        let id = try #require(await second.node("letter.txt", below: .recovered))
        second.outbox.start()
        try await wait(until: "it is refused") { second.outbox.drafts().map(\.state) == [.failed] }
        #expect(try await second.read(id) == "to bob")
        let problem = try await second.fileSystem.extendedAttribute("user.chatfs.error", of: id).value()
        #expect(String(decoding: problem, as: UTF8.self) == Self.gone.sentence)
        let third = try await second.killed(hasBob: false, refusal: Self.gone)
        #expect(await third.recovered() == ["letter.txt"])
        #expect(await third.fileSystem.unlink(EntryName("letter.txt"), in: .recovered).code() == 0)
        #expect(third.drafts == [])
        for stage in [first, second, third] { await stage.end() }
    }

    @Test("an unfinished archive is not shown")
    func begunArchive() async throws {
        let first = try await PastedStage(quietTime: .milliseconds(30))
        let left = first.copyWhenArchiving(2)
        #expect(try await first.makeFolder("F") == 0)
        try await first.write("one", to: "F/a")
        let second = try await PastedStage.mounted(on: left, hasBob: false)
        #expect(await second.recovered() == ["a"] && second.drafts == ["F/a"])
        for stage in [first, second] { await stage.end() }
    }

    @Test("a returning chat gets its drafts back")
    func back() async throws {
        let first = try await PastedStage()
        try await first.write("to bob", to: "letter.txt")
        let second = try await first.killed(hasBob: false)
        #expect(await second.recovered() == ["letter.txt"])
        let third = try await second.killed()
        #expect(await third.recovered() == [])
        #expect(try await third.list("") == ["letter.txt"])
        #expect(try await third.read(third.id("letter.txt")) == "to bob")
        for stage in [first, second, third] { await stage.end() }
    }
}
