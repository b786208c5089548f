import Agent
import Base
import ChatCore
import ChatProtocol
import TestSupport
import Testing

@testable import EmbeddedCore

/// Accepted group invitations whose server does not answer.
@Suite struct SilentInviterTests {
    private let world: World
    private let core: EmbeddedCore
    private let agent: ToldAgent
    /// Connections of joined links.
    private let answers: AsyncStream<ConnectionID>.Continuation

    init() async throws {
        let (joined, answers) = AsyncStream.makeStream(of: ConnectionID.self)
        self.answers = answers
        agent = ToldAgent(
            isEarly: false, joining: { await joined.first { _ in true } }, outcome: { _ in nil })
        world = try World(["alice"])
        core = try await world.openAlice(over: agent)
    }

    /// Stores bob's invitation, whose acceptance has failed before.
    private func invite() async throws -> Int64 {
        let invitation = GroupInvitation(
            host: MemberReference(id: StoreStage.member(1), role: .owner),
            invited: MemberReference(id: StoreStage.member(2), role: .member), link: "l",
            profile: GroupProfile(displayName: "club"))
        let number = try core.store.commit { change in
            let chat = try #require(try change.tables.people.person(ConnectionID(1))?.chat)
            try ArrivedRequests(change: change, time: change.time).take(invitation, in: chat)
            let number = try #require(try change.tables.requests.all(.waiting).first).number
            try change.tables.requests.setState(.accepted, of: number)
            try change.tables.requests.setProblem("No answer.", isFinal: false, of: number)
            change.scheduleAgentWork()
            return number
        }
        try await wait(until: "its link is being joined", within: .seconds(90)) { agent.joins == 1 }
        return number
    }

    @Test func rejectionDuringJoiningCounts() async throws {
        let number = try await invite()
        try await core.rejectRequest(number)
        answers.yield(ConnectionID(9))
        try await wait(until: "the connection is deleted", within: .seconds(90)) {
            agent.deleted == [ConnectionID(9)]
        }
        #expect(try await !core.chats().contains { $0.displayName == "club" })
        try await wait(until: "the request is forgotten", within: .seconds(90)) {
            try core.store.read { try $0.requests.request(number) } == nil
        }
        await core.shutDown()
    }

    @Test func othersRequestsDoNotWait() async throws {
        _ = try await invite()
        let (request, unwanted) = (ContactRequestID(7), ContactRequestID(8))
        try core.store.commit { change in
            try change.tables.requests.insert(
                request, sameAs: nil, message: [], at: change.time, .accepted, acceptedAt: change.elapsed)
            try change.tables.requests.reject(unwanted)
            change.scheduleAgentWork()
        }
        try await wait(until: "the request is accepted", within: .seconds(90)) {
            agent.accepted.contains(request)
        }
        try await wait(until: "the rejection is passed on", within: .seconds(90)) {
            try core.store.read { try $0.requests.all(.rejected).isEmpty }
        }
        answers.finish()
        await core.shutDown()
    }

    @Test func notificationsDuringPauseTryNothing() async throws {
        _ = try await invite()
        answers.finish()
        let retry = RetryPolicy(first: .seconds(3600), maxDelay: .seconds(3600), tries: .max)
        let requests = RequestAnswers(core.store, retry: retry, joined: {})
        let other = ToldAgent(isEarly: false) { _ in nil }
        for number in Int64(1)...3 {
            let request = ContactRequestID(number)
            try core.store.commit { change in
                try change.tables.requests.insert(
                    request, sameAs: nil, message: [], at: change.time, .accepted,
                    acceptedAt: change.elapsed)
            }
            await requests.give(to: other)
            await requests.joinInvitations(over: other)
            #expect(other.accepted.contains(request) && other.joins > 0)
        }
        #expect(other.joins == 1)
        await core.shutDown()
    }
}
