import Agent
import Base
import ChatCore
import ChatProtocol
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Failed message during its file's upload")
struct UnsentFileTests {
    @Test(
        "upload stops, chunks are deleted, expiry starts",
        arguments: [true, false])
    func messageFails(isWaiting: Bool) async throws {
        let world = try World(["alice"])
        let agent = ToldAgent(isEarly: false) { _ in nil }
        let first = try await world.open("alice")
        try first.store.commit { change in
            try change.tables.people.insert(ConnectionID(1))
            let chat = try change.tables.chats.insertContact("bob", of: change.profile, at: change.time)
            try change.tables.people.keep(
                ContactConversation(profile: ContactProfile(displayName: "bob"), versions: 1...16),
                of: ConnectionID(1), chat: chat)
        }
        await first.shutDown()
        try world.database().transaction { try $0.execute("UPDATE chat SET ttl = 60") }
        // Two of three steps succeed; then the relay hangs or is unreachable.
        world.relay.state.withLock { ($0.allowance, $0.waits) = (2, !isWaiting) }
        let core = try await EmbeddedCore.open(
            DataDirectory(world.folder.path("data"), clock: world.clock, bootClock: world.clock),
            profile: "alice", mountpoint: nil,
            relays: [MemoryRelay.relay], transfers: world.relay,
            retry: RetryPolicy(first: .seconds(3600), maxDelay: .seconds(3600), tries: .max),
            agent: agent.making)
        let item = try await core.send(core.compose(pattern(300_000)), to: core.chat(named: "bob"))
        let file = try #require(item.file).id
        try await wait(until: "two steps are there") {
            try world.relay.state.withLock { $0.stepsSent } == 2
                && (!isWaiting || core.store.read { try $0.files.status(of: file) } == .sndWarning)
        }
        try await wait(until: "the message is noted") {
            try world.database().read { try $0.exists("SELECT 1 FROM handed_message") }
        }
        world.clock.advance(by: .seconds(61))
        agent.tell(.messageFailed(message: 1, .contactGone), of: ConnectionID(1), number: 1_000_000)
        let problem = FileProblem(.other, FailureReason.contactGone.sentence)
        _ = try await core.item(in: "bob") { $0 == .sndError(problem) }
        try await wait(until: "its chunks are deleted") {
            try !world.relay.state.withLock { $0.deleted }.isEmpty
                && world.database().read { try !$0.exists("SELECT 1 FROM chunk_deletion") }
        }
        #expect(world.relay.state.withLock { $0.stepsSent } == 2)
        world.clock.advance(by: .seconds(59))
        await core.disappearing.look()
        #expect(try await core.newest(in: "bob").file?.status == .sndError(problem))
        #expect(core.disappearing.next == world.clock.now().advanced(by: .seconds(1)))
        world.clock.advance(by: .seconds(2))
        await core.disappearing.look()
        #expect(try await core.items(of: core.chat(named: "bob"), before: nil, count: 9).isEmpty)
        await core.shutDown()
    }
}
