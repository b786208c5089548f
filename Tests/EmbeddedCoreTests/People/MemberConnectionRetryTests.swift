import Agent
import Base
import ChatProtocol
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Retries of connections with members")
struct MemberConnectionRetryTests {
    private struct Refused: Error {}

    private let world: World

    init() throws { world = try World(["alice"]) }

    @Test("a notification during the delay makes one attempt")
    func notifiedDuringDelay() async throws {
        let agent = ToldAgent(isEarly: false) { _ in nil }
        let core = try await world.openAlice(over: agent)
        try core.store.commit { change in
            let id = ConnectionID(3)
            try change.tables.people.insert(id)
            let chat = try change.tables.chats.insertGroup(
                named: "club", of: change.profile, at: change.time)
            try change.tables.groups.insert(StoreStage.conversation, chat: chat, over: id)
            try change.tables.memberConnections.begin(
                MemberConnection(to: StoreStage.member(3), introducer: StoreStage.member(2)), in: chat,
                at: change.elapsed)
        }
        let attempts = Lock(0)
        let work = AgentWork(
            core.store, retry: RetryPolicy(first: .seconds(3600), maxDelay: .seconds(3600), tries: .max),
            server: {
                attempts.withLock { $0 += 1 }
                throw Refused()
            }, joined: {})
        work.begin(over: agent)
        try await wait(until: "it is tried") { attempts.withLock { $0 } == 1 }
        work.notify()
        try await wait(until: "it is tried again") { attempts.withLock { $0 } > 1 }
        // A third attempt would follow at once.
        try await Task.sleep(for: .milliseconds(200))
        #expect(attempts.withLock { $0 } == 2)
        await work.close()
        await core.shutDown()
    }
}
