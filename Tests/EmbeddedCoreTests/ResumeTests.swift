import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite struct ResumeTests {
    @Test func interruptedUploadResumesWithoutRepetition() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        world.relay.state.withLock { state in
            state.allowance = 3
            state.waits = true
        }
        let alice = try await world.open("alice")
        _ = try await alice.send(try alice.compose(pattern(800_000)), to: alice.chat(named: "bob"))
        try await wait(until: "three steps are sent") { world.relay.state.withLock { $0.stepsSent } == 3 }
        await alice.shutDown()
        world.relay.state.withLock { $0.allowance = .max }
        let bob = try await world.open("bob")
        #expect(try await bob.newest(in: "alice").file?.status == .rcvInvitation(described: false))
        let back = try await world.open("alice")
        _ = try await back.item(in: "bob") { $0 == .sndComplete }
        #expect(world.relay.state.withLock { $0.stepsSent } == 8)
        let offer = try await bob.item(in: "alice") { $0 == .rcvInvitation(described: true) }
        try await bob.receiveFile(try #require(offer.file).id, approvedRelays: false)
        _ = try await bob.item(in: "alice") { $0 == .rcvComplete }
        #expect(try await bob.newest(in: "alice").content() == pattern(800_000))
        await back.shutDown()
        await bob.shutDown()
    }

    @Test func interruptedDownloadResumes() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice")
        let bob = try await world.open("bob")
        _ = try await alice.send(try alice.compose(pattern(300_000)), to: alice.chat(named: "bob"))
        let offer = try await bob.item(in: "alice") { $0 == .rcvInvitation(described: true) }
        let away = TransferFailure(problem: .init(.unreachable, "Away."), isTemporary: true)
        world.relay.state.withLock { $0.downloadFailures = Array(repeating: away, count: 100_000) }
        try await bob.receiveFile(try #require(offer.file).id, approvedRelays: false)
        _ = try await bob.item(in: "alice") { $0 == .rcvWarning(away.problem) }
        await bob.shutDown()
        world.relay.state.withLock { $0.downloadFailures = [] }
        let back = try await world.open("bob")
        let complete = try await back.item(in: "alice") { $0 == .rcvComplete }
        #expect(try complete.content() == pattern(300_000))
        await alice.shutDown()
        await back.shutDown()
    }

    @Test func finalErrorEndsUploadAndDeletesChunks() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let refused = FileProblem(.blocked, "The relay blocks this.")
        world.relay.state.withLock { state in
            state.allowance = 1
            state.failure = TransferFailure(problem: refused, isTemporary: false)
        }
        let alice = try await world.open("alice")
        let heard = Listener(alice)
        _ = try await alice.send(try alice.compose(pattern(300_000)), to: alice.chat(named: "bob"))
        try await heard.waits(for: "sndFileError")
        #expect(try await alice.newest(in: "bob").file?.status == .sndError(refused))
        try await wait(until: "the chunks are gone") { world.relay.state.withLock { $0.files.isEmpty } }
        #expect(world.relay.state.withLock { $0.uploadsBegun } == 1)
        await alice.shutDown()
    }

    @Test func uploadFailsAfterADay() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        world.relay.state.withLock { $0.allowance = 0 }
        let alice = try await world.open("alice")
        let heard = Listener(alice)
        _ = try await alice.send(try alice.compose(pattern(300_000)), to: alice.chat(named: "bob"))
        try await heard.waits(for: "sndFileWarning", times: 3)
        world.clock.advance(by: .seconds(24 * 3600 + 1))
        try await heard.waits(for: "sndFileError")
        await alice.shutDown()
    }

    @Test func expiredFileIsFinalError() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice")
        let bob = try await world.open("bob")
        let heard = Listener(bob)
        _ = try await alice.send(try alice.compose(pattern(300_000)), to: alice.chat(named: "bob"))
        let offer = try await bob.item(in: "alice") { $0 == .rcvInvitation(described: true) }
        world.relay.state.withLock { $0.files = [:] }
        let file = try #require(offer.file).id
        try await bob.receiveFile(file, approvedRelays: false)
        try await heard.waits(for: "rcvFileError")
        #expect(
            await refusal { try await bob.receiveFile(file, approvedRelays: false) }?.code == .file(.expired))
        #expect(
            await refusal { try await bob.claimFile(file, approvedRelays: false) }?.code == .file(.expired))
        await alice.shutDown()
        await bob.shutDown()
    }
}
