import Agent
import Base
import ChatProtocol
import SMP

@testable import EmbeddedCore

/// An agent that sends nothing. Like a real agent may, it reports a message's result before returning the
/// message's number, and waits until the result is processed.
final class ToldAgent: ConnectionAgent {
    private struct State {
        var number: Int64 = 0
        var taken: Set<Int64> = []
        var bodies: [[UInt8]] = []
        var joins = 0
        var accepted: [ContactRequestID] = []
        var deleted: [ConnectionID] = []
    }

    let events: AsyncStream<AgentEvent>
    private let feed: AsyncStream<AgentEvent>.Continuation
    private let state = Lock(State())
    private let outcome: @Sendable (_ message: Int64) -> AgentEvent.Content?
    private let isEarly: Bool
    private let joining: @Sendable () async -> ConnectionID?

    /// - Parameters:
    ///   - joining: connection of a joined link; nil fails.
    ///   - outcome: result of each message; nil reports none.
    init(
        isEarly: Bool, joining: @escaping @Sendable () async -> ConnectionID? = { nil },
        outcome: @escaping @Sendable (Int64) -> AgentEvent.Content?
    ) {
        (events, feed) = AsyncStream.makeStream(of: AgentEvent.self)
        self.isEarly = isEarly
        self.joining = joining
        self.outcome = outcome
    }

    /// Reports an event.
    /// - Parameter number: above those of all sent messages.
    func tell(_ content: AgentEvent.Content, of connection: ConnectionID, number: Int64) {
        feed.yield(AgentEvent(number: number, connection: connection, content: content))
    }

    /// Returns a fresh event number if no messages are sent.
    var next: Int64 { state.withLock { ($0.taken.max() ?? 0) + 1 } }

    /// Whether an event was acknowledged.
    func isTaken(_ number: Int64) -> Bool { state.withLock { $0.taken.contains(number) } }

    var sent: Int { state.withLock { $0.bodies.count } }

    /// Number of calls of `join`.
    var joins: Int { state.withLock { $0.joins } }

    /// Requests that were to be accepted.
    var accepted: [ContactRequestID] { state.withLock { $0.accepted } }

    /// Deleted connections.
    var deleted: [ConnectionID] { state.withLock { $0.deleted } }

    var making: ProfileAgent.Making {
        { _, _, _, _ in
            ProfileAgent(
                agent: self, start: { _ in }, finishSending: { _ in }, receiveWaiting: { _ in },
                stop: { [feed = self.feed] in feed.finish() }, suspend: {}, resume: {})
        }
    }

    func send(
        _ body: [UInt8], to connection: ConnectionID, notifies: Bool, identifier: [UInt8]?
    ) async throws(AgentError) -> Int64 {
        let number = state.withLock { state in
            state.bodies.append(body)
            state.number += 1
            return state.number
        }
        guard let content = outcome(number) else { return number }
        let event = AgentEvent(number: number, connection: connection, content: content)
        if isEarly {
            feed.yield(event)
            while !state.withLock({ $0.taken.contains(number) }) { await Task.yield() }
        } else {
            // Long after its reply.
            Task { [feed] in
                try? await Task.sleep(for: .milliseconds(50))
                feed.yield(event)
            }
        }
        return number
    }

    func acknowledge(event number: Int64, withReceipt: Bool) async throws(AgentError) {
        state.withLock { _ = $0.taken.insert(number) }
    }

    func join(
        link: String, information: [UInt8], confirmation: [UInt8], reason: String?
    ) async throws(AgentError) -> ConnectionID {
        state.withLock { $0.joins += 1 }
        guard let id = await joining() else { throw Self.none }
        return id
    }

    func accept(
        _ request: ContactRequestID, information: [UInt8], reason: String?
    ) async throws(AgentError) -> ConnectionID {
        state.withLock { $0.accepted.append(request) }
        throw Self.none
    }

    func delete(_ connection: ConnectionID, afterSending: Bool) async throws(AgentError) {
        state.withLock { $0.deleted.append(connection) }
    }

    // MARK: - Unused requirements

    private static let none = AgentError(.notPossible, "This agent only sends.")

    func invite(_ invitation: Invitation) async throws(AgentError) -> (
        connection: ConnectionID, links: ConnectionLinks
    ) { throw Self.none }
    func open(link: String) async throws(AgentError) -> OpenedLink { throw Self.none }
    func reject(_ request: ContactRequestID) async throws(AgentError) {}
    func setLinkData(_ data: [UInt8], of connection: ConnectionID) async throws(AgentError) {}
    func security(of connection: ConnectionID) async throws(AgentError) -> ConnectionSecurity? { nil }
    func requireSecurity(_ code: String?, of connection: ConnectionID) async throws(AgentError) {}
    func overview(after id: ConnectionID, count: Int) async throws(AgentError) -> [ConnectionOverview] { [] }
    func rotate(_ connection: ConnectionID, to server: ServerAddress?) async throws(AgentError) {}
    func move(_ connection: ConnectionID, toOneOf servers: [ServerAddress]) async throws(AgentError) {}
    func resynchronise(_ connection: ConnectionID) async throws(AgentError) {}
    func connections() async throws(AgentError) -> [ConnectionSummary] { [] }
    func connections(in phase: ConnectionCondition.Phase) async throws(AgentError) -> [ConnectionID] { [] }
}

extension World {
    /// Opens alice over this agent, with contacts bob (connection 1) and carol (connection 2).
    func openAlice(over agent: ToldAgent) async throws -> EmbeddedCore {
        let first = try await open("alice")
        try first.store.commit { change in
            for (number, name) in [(1, "bob"), (2, "carol")] as [(Int64, String)] {
                try change.tables.people.insert(ConnectionID(number))
                let chat = try change.tables.chats.insertContact(name, of: change.profile, at: change.time)
                try change.tables.people.keep(
                    ContactConversation(profile: ContactProfile(displayName: name), versions: 1...16),
                    of: ConnectionID(number), chat: chat)
            }
        }
        await first.shutDown()
        return try await open("alice", over: agent.making)
    }
}
