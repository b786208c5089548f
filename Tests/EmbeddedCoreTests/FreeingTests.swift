import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import EmbeddedCore

/// Deletion of local copies while messages stay.
@Suite struct FreeingTests {
    private let world: World
    private let bytes = pattern(300_000)

    init() throws {
        world = try World()
        try world.directory.connect("alice", "bob")
    }

    private func received() async throws -> (EmbeddedCore, EmbeddedCore, ChatItem) {
        let alice = try await world.open("alice")
        let bob = try await world.open("bob")
        _ = try await alice.send(try alice.compose(bytes), to: alice.chat(named: "bob"))
        let item = try await bob.item(in: "alice") { $0 == .rcvInvitation(described: true) }
        try await bob.receiveFile(try #require(item.file).id, approvedRelays: false)
        return (alice, bob, try await bob.item(in: "alice") { $0 == .rcvComplete })
    }

    @Test func freedFileCanBeReceivedAgain() async throws {
        let (alice, bob, item) = try await received()
        let file = try #require(item.file)
        let heard = Listener(bob)
        #expect(try await bob.freeCopy(of: file.id, lastCopyToo: false))
        try await heard.waits(for: "chatItemUpdated")
        #expect(access(try #require(file.source).path, F_OK) != 0)
        #expect(try await bob.newest(in: "alice").file?.status == .rcvInvitation(described: true))
        // It is not received automatically, even after a restart. Freeing again has no effect.
        #expect(try await !bob.freeCopy(of: file.id, lastCopyToo: true))
        await bob.shutDown()
        let next = try await world.open("bob")
        #expect(try await next.newest(in: "alice").file?.source == nil)
        try await next.receiveFile(file.id, approvedRelays: false)
        #expect(try await next.item(in: "alice") { $0 == .rcvComplete }.content() == bytes)
        await next.shutDown()
        await alice.shutDown()
    }

    /// A picture small enough to be received automatically.
    private func receivedPicture() async throws -> (EmbeddedCore, EmbeddedCore, ChatItem) {
        let alice = try await world.open("alice")
        let bob = try await world.open("bob")
        let picture = MessageContent.Kind.image(preview: "data:image/jpg;base64,AA==")
        _ = try await alice.send(
            try alice.compose(bytes, name: "a.jpg", kind: picture), to: alice.chat(named: "bob"))
        return (alice, bob, try await bob.item(in: "alice") { $0 == .rcvComplete })
    }

    @Test func freedPictureStaysRemoteAtNextStart() async throws {
        let (alice, bob, item) = try await receivedPicture()
        let file = try #require(item.file).id
        #expect(try await bob.freeCopy(of: file, lastCopyToo: false))
        await bob.shutDown()
        let downloads = world.relay.state.withLock(\.downloads)
        let next = try await world.open("bob")
        // After the automatic downloads at start.
        await next.relaysWereApproved()
        try await Task.sleep(for: .milliseconds(200))
        #expect(try await next.newest(in: "alice").file?.status == .rcvInvitation(described: true))
        #expect(world.relay.state.withLock(\.downloads) == downloads)
        try await next.receiveFile(file, approvedRelays: false)
        #expect(try await next.item(in: "alice") { $0 == .rcvComplete }.content() == bytes)
        await next.shutDown()
        await alice.shutDown()
    }

    @Test func cancelledPictureStaysRemoteAtNextStart() async throws {
        world.relay.state.withLock { relay in
            relay.downloadFailures = Array(
                repeating: TransferFailure(problem: FileProblem(.unreachable, "Away."), isTemporary: true),
                count: 1000)
        }
        let alice = try await world.open("alice")
        let bob = try await world.open("bob")
        let picture = MessageContent.Kind.image(preview: "data:image/jpg;base64,AA==")
        _ = try await alice.send(
            try alice.compose(bytes, name: "a.jpg", kind: picture), to: alice.chat(named: "bob"))
        let item = try await bob.item(in: "alice") { if case .rcvWarning = $0 { true } else { false } }
        try await bob.cancelFile(try #require(item.file).id)
        world.relay.state.withLock { $0.downloadFailures = [] }
        await bob.shutDown()
        let next = try await world.open("bob")
        try await Task.sleep(for: .milliseconds(200))
        #expect(try await next.newest(in: "alice").file?.status == .rcvInvitation(described: true))
        await next.shutDown()
        await alice.shutDown()
    }

    @Test func lastCopyIsFreedOnlyOnRequest() async throws {
        let (alice, bob, item) = try await received()
        let file = try #require(item.file)
        world.clock.advance(by: .seconds(49 * 3600))
        #expect(try await !bob.freeCopy(of: file.id, lastCopyToo: false))
        #expect(try await bob.newest(in: "alice").content() == bytes)
        #expect(try await bob.freeCopy(of: file.id, lastCopyToo: true))
        guard case .rcvError(let problem) = try await bob.newest(in: "alice").file?.status else {
            Issue.record("it is not said to be gone")
            return
        }
        #expect(problem.kind == .expired && problem.sentence.contains("deleted here"))
        #expect(access(try #require(file.source).path, F_OK) != 0)
        await alice.shutDown()
        await bob.shutDown()
    }

    @Test func sentFilesAndNotesAreNotFreed() async throws {
        let (alice, bob, _) = try await received()
        let sent = try await alice.newest(in: "bob")
        let note = try await alice.send(try alice.compose([1, 2]), to: alice.chat(named: "Saved notes"))
        for item in [sent, note] {
            #expect(try await !alice.freeCopy(of: try #require(item.file).id, lastCopyToo: true))
        }
        #expect(try await alice.newest(in: "bob").content() == bytes)
        #expect(
            await refusal { try await alice.freeCopy(of: FileID(999), lastCopyToo: true) }?.code
                == .noSuchFile)
        await alice.shutDown()
        await bob.shutDown()
    }

    /// State after a kill between the commit and the removal of the file.
    @Test func killWhileFreeingLeavesNoStrayFile() async throws {
        let (alice, bob, item) = try await received()
        let file = try #require(item.file)
        let path = try #require(file.source).path
        try OpenFile(world.folder.path("copy"), flags: O_WRONLY | O_CREAT).write([1], at: 0)
        #expect(link(path, path + "0") == 0)
        #expect(try await bob.freeCopy(of: file.id, lastCopyToo: false))
        #expect(rename(path + "0", path) == 0)
        await bob.shutDown()
        let next = try await world.open("bob")
        #expect(access(path, F_OK) != 0)
        await next.shutDown()
        await alice.shutDown()
    }
}
