import Agent
import Base
import ChatCore
import ChatProtocol
import Cryptography
import Network
import SMP

/// A profile's contacts on the network. Opens the agent on first use, so that a profile without such contacts
/// opens nothing.
final class People: ContactKeeping {
    private struct State {
        var opening: Task<ProfileAgent, any Error>?
        var receiving: Task<Void, Never>?
        var opened: ProfileAgent?
        var hasReceivedWaiting = false
        var isSuspended = false
        var isClosed = false
    }

    let store: ProfileStore
    let work: AgentWork
    private let key: SecretBytes?
    private let network: NetworkChoice
    private let isolation: String
    private let policy: OutboundPolicy
    private let refused: RefusedServers
    private let make: ProfileAgent.Making
    private let incoming: AgentEvents
    private let own: OwnIntroduction
    private let retry: RetryPolicy
    private let state = Lock(State())
    /// The problem last reported by `coreUnreachable`. The lock orders the reports.
    private let toldProblem = Lock(String?.none, rank: .registry)
    /// Serialises suspend and resume.
    private let suspending = BlockingMutex()

    init(
        _ store: ProfileStore, key: SecretBytes?, network: NetworkChoice, isolation: String,
        policy: OutboundPolicy, retry: RetryPolicy, make: @escaping ProfileAgent.Making
    ) {
        self.policy = policy
        refused = RefusedServers(store)
        self.network = network
        self.isolation = isolation
        self.store = store
        self.key = key
        self.make = make
        self.retry = retry
        incoming = AgentEvents(store)
        own = OwnIntroduction(store: store)
        work = AgentWork(
            store, retry: retry, server: { try Self.servers(of: store).randomElement() },
            joined: { [incoming] in try incoming.takeHeld() })
        // Weak, as it holds the store.
        store.onOutgoing { [weak work] in work?.notify() }
    }

    /// Opens the agent at start if needed. Returns at once. Failures such as a full disk are retried, so that
    /// a mount regains its contacts.
    func resume() {
        Task { [weak self, retry] in
            await retry.repeatWhile { await self?.resumeNeedsRetry() == true }
        }
    }

    /// Opens the agent if there are contacts or work. Returns whether to retry.
    private func resumeNeedsRetry() async -> Bool {
        do {
            let isNeeded = try await store.reading {
                try $0.people.hasConnections() || $0.network.hasPendingDecisions()
            }
            if isNeeded { _ = try await agent() }
            noteReachable()
            return false
        } catch {
            guard !state.withLock({ $0.isClosed }) else { return false }
            log.warning("agent not opened, retrying: error=\(sentence(of: error))")
            noteUnreachable("No contact on the network can be reached: \(sentence(of: error))")
            return true
        }
    }

    /// Reports a problem once until it changes.
    private func noteUnreachable(_ problem: String) {
        toldProblem.withLock { told in
            // A command may have opened the agent meanwhile.
            guard state.withLock({ $0.opened == nil }), told != problem else { return }
            told = problem
            store.events.tell(.coreUnreachable(problem))
        }
    }

    /// Withdraws a reported problem.
    private func noteReachable() {
        toldProblem.withLock { told in
            guard told != nil else { return }
            told = nil
            store.events.tell(.coreReachable)
        }
    }

    /// Closes all connections to messaging servers until `endSuspension`.
    func suspend() {
        state.withLock { $0.isSuspended = true }
        followSuspension()
    }

    /// Reconnects and retries waiting messages at once.
    func endSuspension() {
        state.withLock { $0.isSuspended = false }
        followSuspension()
    }

    /// Retries servers that the user has just approved.
    func serversWereApproved() {
        refused.forget()
        state.withLock { $0.opened }?.tryAgain()
    }

    private func followSuspension() {
        suspending.withLock {
            let (opened, isSuspended) = state.withLock { ($0.opened, $0.isSuspended) }
            if isSuspended { opened?.suspend() } else { opened?.resume() }
        }
    }

    /// - Parameter time: limit for sending waiting messages. The next start sends the rest.
    func shutDown(finishingWithin time: Duration) async {
        if time > .zero { await openForUnsentMessages() }
        let state = self.state.withLock { state in
            state.isClosed = true
            return state
        }
        if let opened = try? await state.opening?.value {
            let end = ContinuousClock.now + time
            await work.finish(until: end)
            // A request to a server under way ends when the connections close.
            async let closing: Void = work.close()
            await opened.finishSending(end)
            state.receiving?.cancel()
            await opened.stop()
            await closing
        }
        await state.receiving?.value
    }

    /// Opens the agent before shutdown if a short command left messages to send.
    private func openForUnsentMessages() async {
        if let opening = state.withLock({ $0.opening }) {
            // A failure was logged on opening.
            _ = try? await opening.value
            return
        }
        do {
            let isAnythingLeft = try await store.reading { try $0.network.hasPendingDecisions() }
            if isAnythingLeft { _ = try await agent() }
        } catch {
            log.warning("messages left unsent until next start: error=\(sentence(of: error))")
        }
    }

    /// Receives waiting messages once after opening, so that a short command sees the same state as a mount.
    func receiveWaiting() async throws(ChatError) {
        guard !state.withLock({ $0.hasReceivedWaiting }) else { return }
        guard try await blocking.run({ [store] in try store.read { try $0.people.hasConnections() } }) else {
            return
        }
        do throws(ChatError) {
            _ = try await agent()
        } catch {
            // The stored state is still readable, and `resume` logs the failure.
            return
        }
        await state.withLock { $0.opened }?.receiveWaiting(.now + Self.receivingTimeout)
        state.withLock { $0.hasReceivedWaiting = true }
    }

    private static let receivingTimeout = Duration.seconds(5)

    // MARK: - The agent

    /// nil until the agent was needed.
    var opened: ProfileAgent? { state.withLock { $0.opened } }

    func agent() async throws(ChatError) -> any ConnectionAgent {
        let opening = state.withLock { state -> Task<ProfileAgent, any Error>? in
            if state.isClosed { return nil }
            if let opening = state.opening { return opening }
            let task = Task { try await self.open() }
            state.opening = task
            return task
        }
        guard let opening else {
            throw ChatError(.file(.unreachable), "The profile is being closed.")
        }
        do {
            return try await opening.value.agent
        } catch {
            // The next caller retries.
            state.withLock { state in
                if state.opening == opening { state.opening = nil }
            }
            throw ChatError(connecting: error)
        }
    }

    private func open() async throws -> ProfileAgent {
        let (opened, past) = try await blocking.run { [self] in
            let past = ProfileAgent.Past(
                lastEvent: try store.read { try $0.people.lastEvent() },
                isRestored: store.folders.isRestored)
            let servers = try servers()
            var settings = network.connectionSettings(
                isolation: isolation, servers: servers, policy: policy)
            settings.refused = { [refused] in refused.note($0) }
            let opened = try make(store.folders.path + "/agent.sqlite", key, servers, settings)
            return (opened, past)
        }
        do {
            try await opened.start(past)
            // Only now, when the key agreements are stored. A repetition would be harmless.
            if past.isRestored { try await blocking.run { [store] in try store.folders.noteUsed() } }
        } catch {
            await opened.stop()
            throw error
        }
        do {
            try await removeLostLinks(opened.agent)
        } catch {
            log.warning("orphaned links not deleted: error=\(sentence(of: error))")
        }
        let isWanted = state.withLock { [incoming] state in
            guard !state.isClosed else { return false }
            state.opened = opened
            state.receiving = Task { await incoming.follow(opened.agent) }
            return true
        }
        if isWanted { work.begin(over: opened.agent) }
        followSuspension()
        noteReachable()
        return opened
    }

    private func servers() throws -> [ServerAddress] { try Self.servers(of: store) }

    private static func servers(of store: ProfileStore) throws -> [ServerAddress] {
        try store.read { try $0.directory.messagingServers.configured(of: store.profile.id) }
            .compactMap { ServerAddress($0) }
    }

    // MARK: - Making contacts

    /// - Throws: The mapped error of `body`, which asks the agent.
    func connecting<Result>(_ body: () async throws -> Result) async throws(ChatError) -> Result {
        do {
            return try await body()
        } catch {
            throw ChatError(connecting: error)
        }
    }

    /// Creates a one-time link, whose user becomes a contact.
    func invite() async throws(ChatError) -> ContactInvitation {
        let prepared = try await blocking.run { [self] in try self.invitation(.oneTime) }
        return try await connecting {
            let made = try await agent().invite(prepared)
            try await note(made.connection, .ownInvitation)
            return ContactInvitation(
                connection: made.connection.number,
                link: made.links.short?.webLink ?? made.links.full.webLink)
        }
    }

    /// Joins a link, or sends a request to an address. The same link again gives the same contact.
    /// - Returns: the connection's number for `contact`.
    func accept(_ link: String) async throws(ChatError) -> Int64 {
        let kind: LinkKind
        do {
            kind = try LinkKind(link: link)
        } catch {
            throw ChatError(.invalidCommand, error.sentence, cause: error)
        }
        let told = try await blocking.run { [self] () throws -> (first: [UInt8], later: [UInt8]) in
            guard try !servers().isEmpty else { throw Self.noServer }
            let later = try own.introduction()
            return (kind == .invitation ? later : try own.request(), later)
        }
        return try await connecting {
            let reason = ConnectionReason(joining: kind)
            let id = try await agent().join(
                link: link, information: told.first, confirmation: told.later, reason: reason.text)
            try await note(id, reason)
            return id.number
        }
    }

    /// Returns the chat of a connection; nil until the peer has introduced itself.
    /// - Throws: `.invalidCommand` with the reason if the handshake has failed.
    func contact(of connection: Int64) async throws(ChatError) -> Chat? {
        try await store.reading { [store] tables in
            if let failure = try tables.people.failure(of: ConnectionID(connection)) {
                throw ChatError(.invalidCommand, failure)
            }
            guard let person = try tables.people.person(ConnectionID(connection)), let chat = person.chat,
                // A group's folder exists before its host has answered.
                try person.isConnected || !tables.groups.contains(chat)
            else { return nil }
            return try tables.chats.chat(chat, of: store.profile.id)
        }
    }

    /// Starts an agreement on new keys.
    func renewKeys(of chat: ChatReference) async throws(ChatError) {
        guard let connection = try await connection(of: chat) else {
            throw ChatError(.invalidCommand, "Nothing is encrypted between two profiles of this machine.")
        }
        try await connecting { try await agent().resynchronise(connection) }
    }

    /// Moves this profile's queue for the contact to another of its messaging servers.
    func moveQueue(of chat: ChatReference) async throws(ChatError) {
        guard let connection = try await connection(of: chat) else {
            throw ChatError(
                .invalidCommand, "Between two profiles of this machine there is no server to be left.")
        }
        let servers = try await blocking.run { [self] in try self.servers().shuffled() }
        try await connecting { try await agent().move(connection, toOneOf: servers) }
    }

    /// Returns the chat's connection; nil for a chat between local profiles.
    func connection(of chat: ChatReference) async throws(ChatError) -> ConnectionID? {
        try await store.reading { [store] tables in
            let id = try tables.chats.id(of: chat, of: store.profile.id)
            return try tables.people.connection(ofChat: id)
        }
    }

    private func note(_ id: ConnectionID, _ reason: ConnectionReason) async throws(ChatError) {
        try await store.committing { try $0.tables.people.insert(id, reason) }
    }

    private static let noServer = ChatError(
        .file(.noRelay),
        "No messaging server is configured, over which others reach this profile: 'chatfs relay add' gives it one, "
            + "'chatfs relay preset simplex' those of SimpleX Chat."
    )

    /// Blocks.
    func invitation(_ kind: Invitation.Kind) throws -> Invitation {
        guard let server = try servers().randomElement() else { throw Self.noServer }
        return Invitation(
            kind: kind, server: server, information: kind == .oneTime ? try own.introduction() : [],
            linkData: try own.linkData(),
            reason: (kind == .oneTime ? ConnectionReason.ownInvitation : .ownAddress).text)
    }
}

extension ChatError {
    /// Converts an agent error for the caller.
    init(connecting error: any Error) {
        guard let error = error as? AgentError else {
            self.init(wrapping: error)
            return
        }
        let code: ChatErrorCode =
            switch error.code {
            case .serverUnreachable, .stopped: .file(.unreachable)
            case .store, .damaged: .storage
            case .noSuchConnection, .noSuchRequest: .noSuchChat
            case .ended: .sendingRefused
            case .tooLong: .tooLarge
            case .unusableLink, .linkGone, .notPossible, .serverRefused: .invalidCommand
            }
        self.init(code, error.sentence, cause: error)
    }
}

extension ContactProtection {
    init(_ security: ConnectionSecurity) {
        self =
            if security.isPostQuantum {
                .postQuantum
            } else {
                security.isPostQuantumPossible ? .standard : .onlyStandard
            }
    }
}
