import Agent
import Base
import ChatCore
import ChatProtocol
import SMP

/// Creates and deletes connections with group members as the store demands. Each step is stored before the
/// next and is idempotent. The host forwards messages until a connection is established.
final class MemberConnections: Sendable {
    private struct State {
        /// Consecutive failures of servers for links.
        var serverFailures = 0
        /// Consecutive failures of other steps.
        var otherFailures = 0
        /// End of the pause between requests to servers.
        var pause: ContinuousClock.Instant?
        var isClosed = false
    }

    private let store: ProfileStore
    private let own: OwnIntroduction
    private let retry: RetryPolicy
    private let server: @Sendable () throws -> ServerAddress?
    private let joined: @Sendable () throws -> Void
    private let state = Lock(State())

    /// - Parameters:
    ///   - server: returns a server for links, or nil. Blocks.
    ///   - joined: called after a member's link was joined and stored. Blocks.
    init(
        _ store: ProfileStore, retry: RetryPolicy, server: @escaping @Sendable () throws -> ServerAddress?,
        joined: @escaping @Sendable () throws -> Void
    ) {
        self.store = store
        self.retry = retry
        self.server = server
        self.joined = joined
        own = OwnIntroduction(store: store)
    }

    /// Makes no further step.
    func close() { state.withLock { $0.isClosed = true } }

    /// Makes the next step of each row. Without a server for links, other steps continue.
    func make(over agent: any ConnectionAgent) async -> WorkOutcome {
        var problem: (any Error)?
        var isServerAway = state.withLock { $0.pause.map { .now < $0 } ?? false }
        do {
            let rows = try await store.reading { try $0.memberConnections.unfinished() }
            for row in rows {
                if Task.isCancelled || state.withLock({ $0.isClosed }) { return .idle }
                if isServerAway, row.state.phase == .toInvite { continue }
                // Members supplied the row's data; its failure must not stop other rows.
                do {
                    if try await !goOn(with: row, agent) { isServerAway = true }
                } catch {
                    problem = problem ?? error
                }
            }
            if !isServerAway { state.withLock { ($0.serverFailures, $0.pause) = (0, nil) } }
        } catch {
            problem = error
        }
        return nextTry(after: problem, isServerAway)
    }

    /// Makes a row's next step. Returns false if no server creates links now.
    private func goOn(
        with row: MemberConnectionTable.Stored, _ agent: any ConnectionAgent
    ) async throws -> Bool {
        switch row.state.phase {
        case .toInvite: return try await invite(row, agent)
        case .toJoin: try await join(row, agent)
        case .toEnd: try await end(row, agent)
        case .invited, .connecting, .connected: break
        }
        return true
    }

    private func nextTry(after problem: (any Error)?, _ isServerAway: Bool) -> WorkOutcome {
        if let problem {
            log.warning("member connections not made, retrying: error=\(sentence(of: problem))")
        }
        return state.withLock { state in
            state.otherFailures = problem == nil ? 0 : state.otherFailures + 1
            let delays: [Duration?] = [
                problem == nil ? nil : delay(after: state.otherFailures),
                isServerAway ? state.pause.map { ContinuousClock.now.duration(to: $0) } : nil,
            ]
            return delays.compactMap { $0 }.min().map(WorkOutcome.later) ?? .idle
        }
    }

    /// Pauses requests to servers.
    private func pause() {
        state.withLock { state in
            state.serverFailures += 1
            state.pause = .now + delay(after: state.serverFailures)
        }
    }

    private func delay(after failures: Int) -> Duration {
        retry.delay(beforeTry: failures + 1) ?? retry.maxDelay
    }

    // MARK: - Steps

    /// Creates a link for a member. Returns false if no server creates one now.
    private func invite(_ row: MemberConnectionTable.Stored, _ agent: any ConnectionAgent) async throws
        -> Bool
    {
        guard let information = try await blocking.run({ [self] in try information(for: row) }) else {
            try await forget(row)
            return true
        }
        let server = try await blocking.run { [self] in try self.server() }
        guard let server else {
            pause()
            return false
        }
        do throws(AgentError) {
            let made = try await agent.invite(
                Invitation(
                    kind: .oneTime, server: server, information: information, linkData: nil,
                    reason: row.reason.text))
            await told(row, made.connection, link: made.links.full.link, agent)
        } catch {
            log.debug("member link not created, retrying: chat=\(row.chat) error=\(error.sentence)")
            pause()
            return false
        }
        return true
    }

    /// Stores the link, or deletes it if it is no longer wanted or cannot be stored.
    private func told(
        _ row: MemberConnectionTable.Stored, _ id: ConnectionID, link: String, _ agent: any ConnectionAgent
    ) async {
        let isWanted = try? await store.committing { try $0.inviteMember(row, link: link, over: id) }
        if isWanted != true { try? await agent.delete(id, afterSending: false) }
    }

    private func join(_ row: MemberConnectionTable.Stored, _ agent: any ConnectionAgent) async throws {
        // Accept only one-time links: an address's owner would learn this profile.
        guard let link = row.state.link, let request = try? ConnectionRequest(link: link),
            case .invitation = request.kind,
            let information = try await blocking.run({ [self] in try information(for: row) })
        else { return try await forget(row) }
        let id: ConnectionID
        do throws(AgentError) {
            id = try await agent.join(
                link: link, information: information, confirmation: information, reason: row.reason.text)
        } catch {
            if error.code == .store || error.code == .stopped { throw error }
            log.debug("member link not joined: chat=\(row.chat) error=\(error.sentence)")
            return try await forget(row)
        }
        let joining = try await store.committing { try $0.joinMember(row, over: id) }
        switch joining {
        case .stored: try await blocking.run { [joined] in try joined() }
        case .unwanted: try await agent.delete(id, afterSending: false)
        case .somebodyElses: log.notice("member link already in use: chat=\(row.chat)")
        }
    }

    private func end(_ row: MemberConnectionTable.Stored, _ agent: any ConnectionAgent) async throws {
        if let id = row.number {
            do throws(AgentError) {
                try await agent.delete(id, afterSending: true)
            } catch {
                guard error.code == .noSuchConnection || error.code == .ended else { throw error }
            }
        }
        try await forget(row)
    }

    private func forget(_ row: MemberConnectionTable.Stored) async throws {
        try await store.committing { try $0.tables.memberConnections.remove(row.state.member, in: row.chat) }
    }

    /// Returns this profile's introduction to a group member; nil if the group is gone. Blocks.
    private func information(for row: MemberConnectionTable.Stored) throws -> [UInt8]? {
        guard let group = try store.read({ try $0.groups.group(ofChat: row.chat) }) else { return nil }
        return try own.memberInformation(group.own.id)
    }
}
