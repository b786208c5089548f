import ChatCore
import Namespace
import TestSupport
import Testing

@testable import FileSystem

@Suite("Progress events", .timeLimit(.minutes(1)))
struct ProgressEventTests {
    private typealias Fixture = FileSystemFixture

    private func told(_ item: ChatItem, _ done: UInt64) -> ChatEvent {
        let progress = FileProgress(of: item.file?.id ?? FileID(0), in: item, done: done, total: 10)
        return .fileProgress(progress)
    }

    /// Waits until all earlier events are applied.
    private func settle(_ fixture: Fixture) async throws {
        let marker = fixture.core.received("marker", in: Fixture.bob, size: 1)
        fixture.core.tell(.newChatItems([marker]))
        try await wait(until: "the marker is there") {
            await fixture.fileSystem.lister.entry(of: marker.id, in: Fixture.bob) != nil
        }
    }

    @Test func progressUpdatesRunningTransfer() async throws {
        let fixture = try await Fixture.make()
        var item = fixture.core.received("a.bin", in: Fixture.bob, size: 10)
        fixture.core.tell(.newChatItems([item]))
        item.file?.status = .rcvTransfer(received: 0, total: 10)
        fixture.core.tell(.itemChanged(item, .started))
        fixture.core.tell(told(item, 4))
        try await wait(until: "it is at 40 %") {
            (try? fixture.attribute("user.chatfs.progress", of: "bob/a.bin")) == "40"
        }
        #expect(try fixture.attribute("user.chatfs.state", of: "bob/a.bin") == "receiving")
        await fixture.end()
    }

    @Test(arguments: [FileStatus.sndCancelled, .sndComplete, .rcvCancelled, .rcvInvitation(described: true)])
    func lateProgressChangesNoState(status: FileStatus) async throws {
        let fixture = try await Fixture.make()
        var item = fixture.core.received("a.bin", in: Fixture.bob, size: 10)
        item.file?.status = status
        fixture.core.tell(.newChatItems([item]))
        try await settle(fixture)
        let state = try fixture.attribute("user.chatfs.state", of: "bob/a.bin")
        let changes = fixture.fileSystem.changes {}
        fixture.core.tell(told(item, 2))
        try await settle(fixture)
        #expect(try fixture.attribute("user.chatfs.state", of: "bob/a.bin") == state)
        #expect(!changes.take().contains(.changed(try fixture.id("bob/a.bin"))))
        await fixture.end()
    }

    @Test func lateProgressDoesNotRestoreDeletedEntry() async throws {
        let fixture = try await Fixture.make()
        var item = fixture.core.received("a.bin", in: Fixture.bob, size: 10)
        item.file?.status = .rcvTransfer(received: 0, total: 10)
        fixture.core.tell(.newChatItems([item]))
        try await settle(fixture)
        try await fixture.core.deleteItems([item.id], in: Fixture.bob, mode: .internal)
        fixture.core.tell(told(item, 2))
        try await settle(fixture)
        #expect((try? fixture.id("bob/a.bin")) == nil)
        await fixture.end()
    }
}
