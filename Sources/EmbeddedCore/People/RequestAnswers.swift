import Agent
import Base
import ChatCore
import ChatProtocol

/// Passes stored decisions on requests and the address to the agent. A decision is deleted once the agent has
/// stored it. Each step is idempotent.
final class RequestAnswers: Sendable {
    private let store: ProfileStore
    private let own: OwnIntroduction
    private let retry: RetryPolicy
    private let joined: @Sendable () throws -> Void
    /// Failed attempts to join invitations, and the end of the pause after the last one.
    private let pause = Lock((tries: 0, end: ContinuousClock.now))

    /// - Parameters:
    ///   - retry: pauses between attempts to join invitations.
    ///   - joined: called after a joined group was stored. Blocks.
    init(_ store: ProfileStore, retry: RetryPolicy, joined: @escaping @Sendable () throws -> Void) {
        self.store = store
        self.retry = retry
        self.joined = joined
        own = OwnIntroduction(store: store)
    }

    /// Joins accepted invitations. Calls within the pause after an attempt have no effect, because they may be
    /// frequent.
    func joinInvitations(over agent: any ConnectionAgent) async {
        guard pause.withLock({ $0.end <= .now }) else { return }
        let isOver = await joinAll(over: agent)
        pause.withLock { pause in
            pause.tries = isOver ? 0 : pause.tries + 1
            if !isOver { pause.end = .now + (retry.delay(beforeTry: pause.tries + 1) ?? retry.maxDelay) }
        }
    }

    /// Returns whether no invitation was waiting.
    private func joinAll(over agent: any ConnectionAgent) async -> Bool {
        do {
            let accepted = try await store.reading {
                try $0.requests.all(.accepted).filter { $0.chat != nil }
            }
            for request in accepted {
                // Earlier ones may have waited long.
                let state = try await store.reading { try $0.requests.request(request.number)?.state }
                if state == .accepted { try await acceptLater(request, agent) }
            }
            return accepted.isEmpty
        } catch {
            log.warning("invitations not joined: error=\(sentence(of: error))")
            return false
        }
    }

    /// Passes all other decisions on. Failures are retried at the next notification or start.
    func give(to agent: any ConnectionAgent) async {
        do {
            let (accepted, rejected, address) = try await store.reading {
                (
                    try $0.requests.all(.accepted), try $0.requests.all(.rejected),
                    try $0.requests.address()
                )
            }
            for request in accepted where request.chat == nil { try await acceptLater(request, agent) }
            for request in rejected { try await reject(request, agent) }
            if let address, address.untold > 0 { try await refresh(address, agent) }
        } catch {
            log.warning("request answers not passed to agent: error=\(sentence(of: error))")
        }
    }

    /// Accepts a request that the user or the automatic mode approved earlier. The list of requests shows a
    /// failure.
    private func acceptLater(
        _ request: RequestTable.Request, _ agent: any ConnectionAgent
    ) async throws {
        do {
            _ = try await join(request, agent)
        } catch let error as AgentError where error.code == .stopped {
            throw error
        } catch {
            let isFinal = (error as? AgentError).map { Self.finalCodes.contains($0.code) } ?? false
            let event = "accepted request failed: number=\(request.number) error=\(sentence(of: error))"
            if isFinal, try await isAutomatic(request) {
                // Only debug, and not listed, or strangers could fill the log and the list.
                log.debug("\(event)")
                return try await giveUp(request, agent)
            }
            log.notice("\(event)")
            try await note(sentence(of: error), isFinal: isFinal, of: request)
        }
    }

    private func isAutomatic(_ request: RequestTable.Request) async throws -> Bool {
        try await blocking.run { [store] in
            try request.chat == nil && store.read { try $0.requests.address()?.acceptance == .automatically }
        }
    }

    /// Permanent errors.
    private static let finalCodes: Set<AgentErrorCode> = [
        .noSuchRequest, .unusableLink, .linkGone, .tooLong,
    ]

    private func note(
        _ sentence: String, isFinal: Bool, of request: RequestTable.Request
    ) async throws {
        try await store.committing {
            try $0.tables.requests.setProblem(sentence, isFinal: isFinal, of: request.number)
        }
    }

    /// Accepts a request now.
    /// - Returns: its connection.
    /// - Throws: the reason for a failure. An invalid request is deleted; any other is listed with the
    ///   reason.
    func accept(
        _ request: RequestTable.Request, _ agent: any ConnectionAgent
    ) async throws -> ConnectionID {
        do {
            return try await join(request, agent)
        } catch let error as AgentError where Self.finalCodes.contains(error.code) {
            try await giveUp(request, agent)
            throw error
        } catch let error as AgentError where error.code == .stopped {
            throw error
        } catch {
            do {
                try await note(sentence(of: error), isFinal: false, of: request)
            } catch let second {
                // The caller gets the first error; only the list lacks it.
                log.warning(
                    "request problem not stored: number=\(request.number) error=\(sentence(of: second))")
            }
            throw error
        }
    }

    /// - Throws: `.noSuchRequest` if the request was rejected meanwhile.
    private func join(
        _ request: RequestTable.Request, _ agent: any ConnectionAgent
    ) async throws -> ConnectionID {
        let id: ConnectionID
        do throws(AgentError) {
            id = try await connect(request, agent)
        } catch {
            // `give` or another process may have answered it since it was read.
            guard error.code == .noSuchRequest, let known = try await connection(of: request) else {
                throw error
            }
            return known
        }
        let isOpen = try await store.committing { [store] change in
            try change.tables.people.insert(id, request.reason)
            guard let chat = request.chat, let invitation = request.invitation else {
                return try change.tables.requests.setJoined(request.number, by: id)
            }
            // The link may belong to a connection given by the user or another member.
            let person = try change.tables.people.person(id)
            guard case .groupInvitation = person?.reason, person?.conversation == nil else {
                throw AgentError(.unusableLink, "The link of the invitation is another connection's.")
            }
            guard try change.tables.requests.setJoined(request.number, by: id) else {
                // Another invitation may have had the same link.
                return try change.tables.groups.group(over: id) != nil
            }
            let contact = try change.tables.people.contact(ofChat: chat)
            let host = GroupMember(
                host: invitation.host, profile: contact ?? ContactProfile(displayName: "unknown member"))
            try change.join(
                GroupConversation(invitation), over: id, host: host, of: store.profile.id, at: change.time
            )
            return true
        }
        guard isOpen else {
            try await agent.delete(id, afterSending: false)
            throw AgentError(.noSuchRequest, "The request has been rejected.")
        }
        if request.chat == nil {
            // The agent kept it in case the commit failed.
            try? await agent.reject(request.asked)
        } else {
            await blocking.attempt("process early group messages") { [joined] in try joined() }
        }
        return id
    }

    private func connection(of request: RequestTable.Request) async throws -> ConnectionID? {
        try await store.reading { try $0.requests.request(request.number)?.connection }
    }

    private func connect(
        _ request: RequestTable.Request, _ agent: any ConnectionAgent
    ) async throws(AgentError) -> ConnectionID {
        guard request.chat != nil else {
            let information: [UInt8]
            do {
                information = try await blocking.run { [own] in try own.introduction() }
            } catch {
                throw AgentError(.store, error.sentence, cause: error)
            }
            return try await agent.accept(
                request.asked, information: information, reason: request.reason.text)
        }
        // A short link needs its server. Only this task waits for it.
        guard let invitation = request.invitation,
            let acceptance = try? OwnIntroduction.acceptance(of: invitation)
        else { throw AgentError(.unusableLink, "The invitation makes no sense.") }
        return try await agent.join(
            link: invitation.link, information: acceptance, confirmation: acceptance,
            reason: request.reason.text)
    }

    /// Rejects an invalid request, unless it was answered meanwhile.
    private func giveUp(_ request: RequestTable.Request, _ agent: any ConnectionAgent) async throws {
        let isOpen = try await store.committing { change in
            guard try change.tables.requests.request(request.number)?.state == .accepted else {
                return false
            }
            try change.tables.requests.setState(.rejected, of: request.number)
            return true
        }
        if isOpen { try await reject(request, agent) }
    }

    private func reject(_ request: RequestTable.Request, _ agent: any ConnectionAgent) async throws {
        // The agent does not know group invitations.
        if request.chat == nil {
            do throws(AgentError) {
                try await agent.reject(request.asked)
            } catch {
                guard error.code == .noSuchRequest else { throw error }
            }
        }
        try await store.committing { try $0.tables.requests.remove(request.number) }
    }

    private func refresh(_ address: RequestTable.Address, _ agent: any ConnectionAgent) async throws {
        let data = try await blocking.run { [own] in try own.linkData() }
        try await agent.setLinkData(data, of: address.connection)
        try await store.committing { try $0.tables.requests.noteTold(address.untold) }
    }
}

extension RequestTable.Request {
    /// The reason of the resulting connection.
    fileprivate var reason: ConnectionReason {
        chat.map { .groupInvitation(chat: $0) } ?? .requester
    }

    /// The contact's group invitation.
    fileprivate var invitation: GroupInvitation? {
        guard case .group(.invitation(let invitation)) = ChatMessage(stored: message)?.event else {
            return nil
        }
        return invitation
    }
}
