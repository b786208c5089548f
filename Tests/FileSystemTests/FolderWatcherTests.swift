import Base
import ChatCore
import Glibc
import Namespace
import TestSupport
import Testing

@testable import FileSystem

@Suite("Folder watchers")
struct FolderWatcherTests {
    private typealias Fixture = FileSystemFixture

    /// Records notices as text.
    private final class Ear: Sendable {
        let told = Lock<[String]>([])

        init(_ fileSystem: FileSystem) {
            fileSystem.tellWatchers { notice in
                let words =
                    switch notice {
                    case .appeared(let node): "appeared \(node.name)"
                    case .vanished(_, let name, _): "vanished \(name)"
                    case .renamed(let node, let old): "renamed \(old) to \(node.name)"
                    case .changed(let node): "changed \(node.name)"
                    case .lookAgain: "look again"
                    }
                self.told.withLock { $0.append(words) }
            }
        }

        func expect(_ words: [String]) async throws {
            try await wait(until: "\(words) are told", within: .seconds(20)) {
                told.withLock { $0.count } >= words.count
            }
            #expect(told.withLock { $0 } == words)
        }
    }

    @Test("only folders known to the kernel are reported")
    func entries() async throws {
        let fixture = try await Fixture.make()
        let ear = Ear(fixture.fileSystem)
        let unknown = fixture.core.received("unknown.bin", in: Fixture.bob, size: 10)
        fixture.core.tell(.newChatItems([unknown]))

        // Events are applied in order: after this one, no other follows.
        fixture.core.tell(
            .chatUpdated(Chat(reference: .direct(9), displayName: "carol", updatedAt: Timestamp(seconds: 5))))
        try await ear.expect(["appeared carol"])
        ear.told.withLock { $0 = [] }

        let bob = try fixture.id("bob")
        var item = fixture.core.received("a.bin", in: Fixture.bob, size: 10)
        fixture.core.tell(.newChatItems([item]))
        try await ear.expect(["appeared a.bin"])
        item.file?.status = .rcvTransfer(received: 0, total: 10)
        fixture.core.tell(.itemChanged(item, .started))
        let file = try #require(item.file).id
        for received in [1, 2, 3] as [UInt64] {
            fixture.core.tell(
                .fileProgress(FileProgress(of: file, in: item, done: received, total: 10)))
        }
        item.file?.status = .rcvComplete
        fixture.core.tell(.itemChanged(item, .completed))
        // Its progress changes nothing that a window shows.
        try await ear.expect(["appeared a.bin", "changed a.bin", "changed a.bin"])
        try await fixture.core.deleteItems([item.id], in: Fixture.bob, mode: .internal)
        try await ear.expect(["appeared a.bin", "changed a.bin", "changed a.bin", "vanished a.bin"])

        fixture.fileSystem.forget(bob, 1)
        let late = fixture.core.received("late.bin", in: Fixture.bob, size: 10)
        fixture.core.tell(.newChatItems([late]))
        try await wait(until: "it is there") {
            fixture.fileSystem.shown(EntryName("late.bin"), in: bob) != nil
        }
        #expect(ear.told.withLock { $0.count } == 4)
    }

    @Test("watchers of the root see chats change")
    func chats() async throws {
        let fixture = try await Fixture.make()
        let ear = Ear(fixture.fileSystem)
        var carol = Chat(reference: .direct(9), displayName: "carol", updatedAt: Timestamp(seconds: 5))
        fixture.core.tell(.chatUpdated(carol))
        // The unchanged chat again.
        fixture.core.tell(.chatUpdated(carol))
        try await ear.expect(["appeared carol"])
        carol.displayName = "Carol from work"
        carol.isNamedByUser = true
        fixture.core.tell(.chatUpdated(carol))
        try await ear.expect(["appeared carol", "renamed carol to Carol from work"])
        fixture.core.tell(.chatRemoved(carol.reference))
        try await ear.expect(
            ["appeared carol", "renamed carol to Carol from work", "vanished Carol from work"])
    }

    @Test("a file loaded before its event is reported")
    func loadedBefore() async throws {
        let fixture = try await Fixture.make(showsEverything: false)
        _ = try fixture.id("bob")
        let ear = Ear(fixture.fileSystem)
        let item = fixture.core.received("a.bin", in: Fixture.bob, size: 10)
        await fixture.fileSystem.showEverything()
        fixture.core.tell(.newChatItems([item]))
        try await ear.expect(["appeared a.bin"])
    }

    @Test("paths list the names from the root")
    func paths() async throws {
        let fixture = try await Fixture.make()
        #expect(fixture.fileSystem.path(of: .root) == [])
        #expect(fixture.fileSystem.path(of: .recovered) == [EntryName(".chatfs"), EntryName("recovered")])
        #expect(fixture.fileSystem.path(of: NodeID(999_999)) == nil)
    }

    @Test("a folder is known while references remain")
    func known() {
        let folders = ReferencedFolders()
        let folder = NodeID(2000)
        #expect(folders.isKnown(.root) && !folders.isKnown(folder))
        for _ in 0..<3 { folders.tell(folder) }
        folders.forget(folder, 2)
        #expect(folders.isKnown(folder))
        folders.forget(folder, 1)
        #expect(!folders.isKnown(folder))
        folders.forget(folder, 5)
        folders.tell(folder)
        #expect(folders.isKnown(folder))
    }
}
