import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite struct ClaimTests {
    private func offer() async throws -> (World, EmbeddedCore, EmbeddedCore, ChatItem) {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice")
        let bob = try await world.open("bob")
        _ = try await alice.send(try alice.compose(pattern(300_000)), to: alice.chat(named: "bob"))
        return (world, alice, bob, try await bob.item(in: "alice") { $0 == .rcvInvitation(described: true) })
    }

    @Test func completedClaimBecomesCoresCopy() async throws {
        let (world, alice, bob, item) = try await offer()
        let heard = Listener(bob)
        let file = try #require(item.file).id
        let claim = try #require(try await bob.claimFile(file, approvedRelays: false))
        #expect(claim.description.contains("party: recipient"))
        #expect(
            await refusal { try await bob.claimFile(file, approvedRelays: false) }?.code == .alreadyReceiving)
        #expect(
            await refusal { try await bob.receiveFile(file, approvedRelays: false) }?.code
                == .alreadyReceiving)
        let staged = try bob.compose(pattern(300_000)).source
        let location = try await bob.completeClaim(file, staged: staged)
        #expect(access(staged.path, F_OK) != 0)
        #expect(access(location.path, F_OK) == 0)
        try await heard.waits(for: "rcvFileComplete")
        let complete = try await bob.newest(in: "alice")
        #expect(complete.file?.source == location)
        #expect(try complete.content() == pattern(300_000))
        #expect(try await bob.claimFile(file, approvedRelays: false) == nil)
        await alice.shutDown()
        await bob.shutDown()
        withExtendedLifetime(world) {}
    }

    @Test func claimedStreamIsKeptWithPlaceOfItsContent() async throws {
        let (world, alice, bob, item) = try await offer()
        let file = try #require(item.file).id
        #expect(try await bob.claimFile(file, approvedRelays: false)?.keepsStream == true)
        let location = try await bob.completeClaim(file, staged: try bob.stageStream(pattern(300_000)))
        #expect(location.arguments?.content == 6..<300_006)
        #expect(try await bob.newest(in: "alice").file?.source == location)
        await bob.shutDown()
        let later = try await world.open("bob")
        let kept = try await later.newest(in: "alice")
        #expect(kept.file?.source == location && kept.file?.status == .rcvComplete)
        #expect(try kept.content() == pattern(300_000))
        #expect(try world.directory.describedDigest(of: file, of: later.profile)?.count == 64)
        await alice.shutDown()
        await later.shutDown()
    }

    @Test(arguments: [299_999, 300_001])
    func streamOfAnotherContentSizeIsNotKept(size: Int) async throws {
        let (world, alice, bob, item) = try await offer()
        let file = try #require(item.file).id
        _ = try await bob.claimFile(file, approvedRelays: false)
        let staged = try bob.stageStream(pattern(size))
        let error = await refusal { try await bob.completeClaim(file, staged: staged) }
        #expect(error?.code == .file(.damaged))
        await alice.shutDown()
        await bob.shutDown()
        withExtendedLifetime(world) {}
    }

    @Test func abandonedClaimCanBeRepeatedUnlessFinal() async throws {
        let (world, alice, bob, item) = try await offer()
        let file = try #require(item.file).id
        for problem in [nil, FileProblem(.unreachable, "Away.")] {
            #expect(try await bob.claimFile(file, approvedRelays: false) != nil)
            await bob.abandonClaim(file, problem: problem)
        }
        #expect(try await bob.claimFile(file, approvedRelays: false) != nil)
        let wrong = FileProblem(.damaged, "Chunk 1 is another one.")
        await bob.abandonClaim(file, problem: wrong)
        #expect(try await bob.newest(in: "alice").file?.status == .rcvError(wrong))
        #expect(
            await refusal { try await bob.claimFile(file, approvedRelays: false) }?.code == .file(.damaged))
        await alice.shutDown()
        await bob.shutDown()
        withExtendedLifetime(world) {}
    }

    @Test func claimedFileOfWrongLengthIsRejected() async throws {
        let (world, alice, bob, item) = try await offer()
        let file = try #require(item.file).id
        #expect(try await bob.claimFile(file, approvedRelays: false) != nil)
        let staged = try bob.compose(pattern(299_999)).source
        let error = await refusal { try await bob.completeClaim(file, staged: staged) }
        #expect(error?.code == .file(.damaged))
        #expect(try await bob.newest(in: "alice").file?.status == .rcvInvitation(described: true))
        #expect(access(staged.path, F_OK) != 0)
        await alice.shutDown()
        await bob.shutDown()
        withExtendedLifetime(world) {}
    }

    @Test func fileCancelledDuringClaimStaysCancelled() async throws {
        let (world, alice, bob, item) = try await offer()
        let file = try #require(item.file).id
        #expect(try await bob.claimFile(file, approvedRelays: false) != nil)
        let heard = Listener(bob)
        let sent = try #require(try await alice.newest(in: "bob").file).id
        try await alice.cancelFile(sent)
        try await heard.waits(for: "rcvFileSndCancelled")
        let staged = try bob.compose(pattern(300_000)).source
        let error = await refusal { try await bob.completeClaim(file, staged: staged) }
        #expect(error?.code == .file(.cancelledBySender))
        #expect(try storedFiles(of: bob).isEmpty)
        withExtendedLifetime(world) {}
        await alice.shutDown()
        await bob.shutDown()
    }

    private func storedFiles(of core: EmbeddedCore) throws -> [String] {
        try PrivateFolder.names(in: OpenFile(core.store.folders.filesPath, flags: O_RDONLY))
    }

    @Test func inlineAndUndescribedFilesCannotBeClaimed() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        world.relay.state.withLock { $0.allowance = 0 }
        let alice = try await world.open("alice")
        let bob = try await world.open("bob")
        _ = try await alice.send(try alice.compose(pattern(300_000)), to: alice.chat(named: "bob"))
        let item = try await bob.item(in: "alice") { $0 == .rcvInvitation(described: false) }
        let file = try #require(item.file).id
        #expect(try await bob.claimFile(file, approvedRelays: false) == nil)
        // Requested before its description; the core receives it afterwards.
        try await bob.setFileToReceive(file, approvedRelays: false)
        #expect(try await bob.newest(in: "alice").file?.status == .rcvInvitation(described: false))
        world.relay.state.withLock { $0.allowance = .max }
        _ = try await bob.item(in: "alice") { $0 == .rcvComplete }
        #expect(
            await refusal { try await bob.claimFile(FileID(999), approvedRelays: false) }?.code == .noSuchFile
        )
        await alice.shutDown()
        await bob.shutDown()
    }
}
