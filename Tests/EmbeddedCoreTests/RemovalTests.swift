import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite struct RemovalTests {
    private func pair(_ size: Int) async throws -> (World, EmbeddedCore, EmbeddedCore, ChatItem) {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice")
        let bob = try await world.open("bob")
        let heard = Listener(bob)
        let item = try await alice.send(try alice.compose(pattern(size)), to: alice.chat(named: "bob"))
        try await heard.waits(for: size > 261_120 ? "rcvFileDescrReady" : "rcvFileComplete")
        return (world, alice, bob, item)
    }

    @Test func localDeletionKeepsPeersCopy() async throws {
        let (world, alice, bob, item) = try await pair(1000)
        let heard = Listener(alice)
        try await alice.deleteItems([item.id], in: item.chat, mode: .internal)
        try await heard.waits(for: "chatItemsDeleted")
        #expect(access(try #require(item.file?.source).path, F_OK) != 0)
        #expect(await refusal { try await alice.item(item.id, in: item.chat) }?.code == .noSuchItem)
        #expect(try await bob.newest(in: "alice").content() == pattern(1000))
        await alice.shutDown()
        await bob.shutDown()
        withExtendedLifetime(world) {}
    }

    @Test func broadcastDeletionRemovesAllCopies() async throws {
        let (world, alice, bob, item) = try await pair(300_000)
        let received = try await bob.newest(in: "alice")
        try await bob.receiveFile(try #require(received.file).id, approvedRelays: false)
        let complete = try await bob.item(in: "alice") { $0 == .rcvComplete }
        let heard = Listener(bob)
        try await alice.deleteItems([item.id], in: item.chat, mode: .broadcast)
        try await heard.waits(for: "chatItemsDeleted")
        #expect(await refusal { try await bob.item(received.id, in: received.chat) }?.code == .noSuchItem)
        try await wait(until: "bob's file is gone") {
            access(try #require(complete.file?.source).path, F_OK) != 0
        }
        try await wait(until: "the chunks are gone") { world.relay.state.withLock { $0.files.isEmpty } }
        #expect(try world.folder.names(in: "data/profiles/1/files").isEmpty)
        #expect(try world.folder.names(in: "data/profiles/2/files").isEmpty)
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func broadcastDeletionNeedsOwnRecentMessage() async throws {
        let (world, alice, bob, item) = try await pair(10)
        let received = try await bob.newest(in: "alice")
        #expect(
            await refusal { try await bob.deleteItems([received.id], in: received.chat, mode: .broadcast) }?
                .code == .invalidCommand)
        world.clock.advance(by: .seconds(24 * 3600 + 1))
        let fresh = try await alice.send(try alice.compose([1]), to: item.chat)
        // One of two is too old: neither is deleted.
        #expect(
            await refusal {
                try await alice.deleteItems([fresh.id, item.id], in: item.chat, mode: .broadcast)
            }?.code == .invalidCommand)
        #expect(try await alice.items(of: item.chat, before: nil, count: 9).count == 2)
        try await alice.deleteItems([fresh.id], in: item.chat, mode: .broadcast)
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func chatIsDeletedWhileItsFilesVanish() async throws {
        let (world, alice, bob, item) = try await pair(10)
        for _ in 0..<100 { _ = try await alice.send(try alice.compose([1]), to: item.chat) }
        let newest = try await alice.items(of: item.chat, before: nil, count: 20)
        let heard = Listener(alice)
        async let deletion: Void = alice.deleteChat(item.chat)
        try await heard.waits(for: "chatItemsDeleted")
        // As messages that disappear: the deletion of the chat comes to them last.
        for item in newest { try? await alice.deleteItems([item.id], in: item.chat, mode: .internal) }
        try await deletion
        let refused = await refusal { try await alice.items(of: item.chat, before: nil, count: 9) }
        #expect(refused?.code == .noSuchChat)
        await alice.shutDown()
        await bob.shutDown()
        withExtendedLifetime(world) {}
    }

    @Test func cancelledUploadDeletesChunksAndNotifies() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        world.relay.state.withLock { state in
            state.allowance = 2
            state.waits = true
        }
        let alice = try await world.open("alice")
        let bob = try await world.open("bob")
        let heard = Listener(bob)
        let item = try await alice.send(try alice.compose(pattern(400_000)), to: alice.chat(named: "bob"))
        try await wait(until: "half is sent") { world.relay.state.withLock { $0.stepsSent } == 2 }
        let file = try #require(item.file).id
        try await alice.cancelFile(file)
        try await heard.waits(for: "rcvFileSndCancelled")
        #expect(try await alice.newest(in: "bob").file?.status == .sndCancelled)
        let cancelled = try await bob.newest(in: "alice")
        #expect(cancelled.file?.status == .rcvCancelled)
        let error = await refusal {
            try await bob.receiveFile(try #require(cancelled.file).id, approvedRelays: false)
        }
        #expect(error?.code == .file(.cancelledBySender))
        try await wait(until: "the chunks are gone") { world.relay.state.withLock { $0.files.isEmpty } }
        #expect(await refusal { try await alice.cancelFile(file) }?.code == .invalidCommand)
        // The sender keeps its own copy until the item is deleted.
        #expect(try await alice.newest(in: "bob").content() == pattern(400_000))
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func cancelledUploadReportsNoMoreProgress() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        world.relay.state.withLock { state in
            (state.allowance, state.waits, state.lateProgress) = (2, true, 390_000)
        }
        let alice = try await world.open("alice")
        let heard = Listener(alice)
        let item = try await alice.send(try alice.compose(pattern(400_000)), to: alice.chat(named: "bob"))
        try await wait(until: "half is sent") { world.relay.state.withLock { $0.stepsSent } == 2 }
        try await alice.cancelFile(try #require(item.file).id)
        // After all events so far.
        try await alice.deleteItems([item.id], in: item.chat, mode: .internal)
        try await heard.waits(for: "chatItemsDeleted")
        let told = heard.names
        #expect(told.contains("fileProgress"))
        let cancelled = try #require(told.lastIndex(of: "chatItemUpdated"))
        #expect(!told[cancelled...].contains("fileProgress"))
        await alice.shutDown()
    }

    @Test func cancellingKeepsReceivedCopies() async throws {
        let (world, alice, bob, item) = try await pair(300_000)
        let received = try await bob.newest(in: "alice")
        try await bob.receiveFile(try #require(received.file).id, approvedRelays: false)
        _ = try await bob.item(in: "alice") { $0 == .rcvComplete }
        try await alice.cancelFile(try #require(item.file).id)
        try await wait(until: "the chunks are gone") { world.relay.state.withLock { $0.files.isEmpty } }
        #expect(try await bob.newest(in: "alice").file?.status == .rcvComplete)
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func inlineFileCannotBeCancelled() async throws {
        let (world, alice, bob, item) = try await pair(10)
        let file = try #require(item.file).id
        #expect(await refusal { try await alice.cancelFile(file) }?.code == .invalidCommand)
        let received = try #require(try await bob.newest(in: "alice").file).id
        #expect(await refusal { try await bob.cancelFile(received) }?.code == .invalidCommand)
        #expect(await refusal { try await bob.cancelFile(file) }?.code == .noSuchFile)
        await alice.shutDown()
        await bob.shutDown()
        withExtendedLifetime(world) {}
    }

    @Test func cancelledDownloadBecomesOffer() async throws {
        let (world, alice, bob, _) = try await pair(300_000)
        let file = try #require(try await bob.newest(in: "alice").file).id
        let away = TransferFailure(problem: .init(.unreachable, "Away."), isTemporary: true)
        world.relay.state.withLock { $0.downloadFailures = Array(repeating: away, count: 100_000) }
        try await bob.receiveFile(file, approvedRelays: false)
        _ = try await bob.item(in: "alice") { $0 == .rcvWarning(away.problem) }
        try await bob.cancelFile(file)
        #expect(try await bob.newest(in: "alice").file?.status == .rcvInvitation(described: true))
        world.relay.state.withLock { $0.downloadFailures = [] }
        try await bob.receiveFile(file, approvedRelays: false)
        _ = try await bob.item(in: "alice") { $0 == .rcvComplete }
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func absentPeerLearnsOfDeletion() async throws {
        let (world, alice, bob, item) = try await pair(1000)
        await bob.shutDown()
        try await alice.deleteItems([item.id], in: item.chat, mode: .broadcast)
        let back = try await world.open("bob")
        #expect(try await back.items(of: back.chat(named: "alice"), before: nil, count: 9).isEmpty)
        #expect(try world.folder.names(in: "data/profiles/2/files").isEmpty)
        await alice.shutDown()
        await back.shutDown()
    }
}
