import Base
import ChatCore
import CoreServices

/// Looks for what no event told: events are lost when a connection breaks, and another client of the
/// same core takes them for good.
///
/// A change (an event, a write to the core's database) leads to one comparison some seconds later, however many
/// changes there are until then; without any, none is made. Only where a change could go unnoticed the clock does it:
/// the events of a program go to one of its clients each, so another one beside this takes some, and of those only
/// its database tells.
final class Reconciliation: Sendable {
    private struct State {
        /// A comparison is planned and has not begun.
        var isPlanned = false
        /// A comparison of everything has ended since the present connection was asked for one.
        var hasCompared = false
        /// After it, all was read of the history that can be.
        var hasReadAll = false
    }

    private let connection: CoreConnection
    private let index: IndexStore
    private let recent: RecentEvents
    private let descriptions: Descriptions
    private let trust: OfficialRelayTrust
    private let settings: OfficialCoreSettings
    private let profile: Int64
    private let comparison: Comparison
    private let lostUploads: LostUploads
    private let watch: DatabaseWatch
    private let history: WorkSignal
    private let requests: AsyncStream<ReconciliationScope>
    private let request: AsyncStream<ReconciliationScope>.Continuation
    private let state = Lock(State())

    private static let maxChats = 5000
    /// Transfers looked at in one comparison.
    private static let maxTransfers = 20
    /// Pages by which a chat is caught up; deeper than that the walk through the history goes.
    private static let maxPages = 20

    init(
        _ connection: CoreConnection, _ index: IndexStore, _ recent: RecentEvents,
        _ descriptions: Descriptions, _ trust: OfficialRelayTrust, _ history: WorkSignal,
        of profile: Profile, _ settings: OfficialCoreSettings
    ) {
        self.connection = connection
        self.index = index
        self.recent = recent
        self.descriptions = descriptions
        self.trust = trust
        self.history = history
        self.settings = settings
        self.profile = profile.id
        comparison = Comparison(connection, index, of: profile)
        lostUploads = LostUploads(connection, index)
        watch = DatabaseWatch(connection)
        (requests, request) = AsyncStream.makeStream(of: ReconciliationScope.self)
    }

    // MARK: - When

    /// Compares whenever it is asked to, until its task is cancelled or `end`.
    func run() async {
        for await scope in requests {
            await reconcile(scope)
            if Task.isCancelled { return }
        }
    }

    /// A comparison of the newest, within `reconcileInterval`. Returns at once.
    func plan() {
        let isFirst = state.withLock { state in
            defer { state.isPlanned = true }
            return !state.isPlanned
        }
        guard isFirst else { return }
        Task { [weak self, interval = settings.reconcileInterval] in
            try? await Task.sleep(for: interval)
            guard let self else { return }
            state.withLock { $0.isPlanned = false }
            request.yield(.newest)
        }
    }

    /// A comparison of everything, next. Returns at once.
    func requestWhole() {
        state.withLock { $0.hasCompared = false }
        request.yield(.whole)
    }

    /// All that can be read of the history was read. Returns at once.
    func noteHistoryRead() {
        state.withLock { $0.hasReadAll = true }
        if comparison.hasLeftOut { request.yield(.leftOut) }
    }

    func end() {
        request.finish()
        watch.end()
    }

    var hasCompared: Bool { state.withLock { $0.hasCompared } }
    /// Also where some of it was refused.
    var hasReadAll: Bool { state.withLock { $0.hasReadAll } }
    var isPlanned: Bool { state.withLock { $0.isPlanned } }
    var isWatchingDatabase: Bool { watch.isActive }

    /// Whether the next comparison comes without a change.
    private var isPeriodic: Bool {
        guard settings.phone == nil else { return false }
        return lostUploads.hasUploads || settings.ownership != .library && !watch.isActive
    }

    // MARK: - What

    private func reconcile(_ scope: ReconciliationScope) async {
        defer { history.notify() }
        guard connection.isConnected else { return }
        do throws(ChatError) {
            if !descriptions.isNetworkKnown { await takeNetworkAnew() }
            if scope == .leftOut { return try await comparison.compareCounts(.leftOut) }
            if scope == .whole {
                if settings.ownership != .library { try await watch.begin { [weak self] in self?.plan() } }
                try await comparison.doubtUnfinishedWalks()
            }
            try await takeChats()
            try await takeTransfers()
            try await lostUploads.compare()
            if scope == .whole {
                try await comparison.lookForParts()
                try await comparison.compareCounts(.whole)
                try await takeNetwork()
                state.withLock { ($0.hasCompared, $0.hasReadAll) = (true, false) }
            } else if try await comparison.hasChanged() {
                watch.noteChange()
                try await comparison.compareCounts(.newest)
            }
            if isPeriodic || !descriptions.isNetworkKnown { plan() }
        } catch {
            // The connection, mostly: then the comparison after the next one does it.
            log.information("the chats could not be compared: \(error.sentence)")
            comparison.noteFailure()
            plan()
        }
    }

    /// All chats; of those with a newer message the newest page.
    func takeChats() async throws(ChatError) {
        let command = APICommand.chats(user: profile, count: Self.maxChats)
        let began = ContinuousClock.now
        guard case .chats(let infos) = try await ask(command) else {
            throw ChatError(.internalError, "The SimpleX core gave no list of chats.")
        }
        let changed = try await blocking.run { [index, recent] in
            try index.commit { change in try Self.note(infos, change) { recent.contains($0, since: began) } }
        }
        for chat in changed { try await catchUp(chat) }
    }

    /// Those with a newer message.
    /// - Parameter isOutdated: whether the list may be older than what is known of a chat.
    private static func note(
        _ infos: [APIChatInfo], _ change: IndexChange, _ isOutdated: (ChatReference) -> Bool
    ) throws -> [APIChatReference] {
        let known = try change.tables.chats.updates()
        var changed: [APIChatReference] = []
        for info in infos where !isOutdated(info.reference.chat) {
            let updated = known[info.reference.description]
            if let updated, updated < info.updatedAt { changed.append(info.reference) }
            try change.take(info)
            try change.tables.chats.noteListed(info.reference.chat)
        }
        // A contact that was never written to is not listed, and not gone.
        let listed = try change.tables.chats.listed()
        let present = Set(infos.map(\.reference.chat.description))
        for chat in listed where !present.contains(chat) && infos.count < maxChats {
            if let reference = ChatReference(chat), !isOutdated(reference) {
                try change.removeChat(reference)
            }
        }
        return changed
    }

    /// Reads back from the newest message until everything is known.
    private func catchUp(_ chat: APIChatReference) async throws(ChatError) {
        var page = APIPage.last(settings.pageSize)
        for _ in 0..<Self.maxPages {
            let began = ContinuousClock.now
            guard case .chatPage(let answer) = try await ask(.chatPage(chat, page)) else { return }
            let isMissing = try await blocking.run { [index, recent] in
                try index.commit { change in
                    // Deleted with all that it holds while the page was under way.
                    guard try change.tables.chats.chat(chat.chat) != nil else { return false }
                    var isNew = false
                    for item in answer.items where !recent.contains(item.id, since: began) {
                        let known = try change.tables.items.item(item.id) != nil
                        let shown = try change.take(item, .look) != nil
                        isNew = isNew || (shown && !known)
                    }
                    return isNew
                }
            }
            guard isMissing, let oldest = answer.items.first?.id else { return }
            page = .before(oldest, count: settings.pageSize)
        }
        try await comparison.walkAgain([chat.description])
    }

    /// Transfers whose end may have been told to somebody else.
    private func takeTransfers() async throws(ChatError) {
        let moving = try await blocking.run { [index] in
            try index.read { try $0.items.moving(limit: Self.maxTransfers) }
        }
        for (id, text) in moving {
            guard let reference = APIChatReference(text: text) else { continue }
            let began = ContinuousClock.now
            let item = try await connection.knownItem(id, in: reference)
            try await blocking.run { [index, recent] in
                try index.commit { change in
                    if recent.contains(id, since: began) { return }
                    if let item { try change.take(item, .look) } else { try change.removeUntold([id]) }
                }
            }
        }
    }

    /// The network of a core that may be another run than before: until it has told it over this connection, it counts
    /// as one that hides the user's address (`Descriptions`).
    func takeNetworkAnew() async {
        do throws(ChatError) {
            try await takeProxy()
        } catch {
            // The next comparison asks again.
            log.information("the core did not tell its network: \(error.sentence)")
        }
    }

    /// Who is connected waits for it.
    private func takeProxy() async throws(ChatError) {
        let number = connection.number
        do throws(OfficialCoreError) {
            let answer = try await connection.ask(.network, timeout: settings.connectTimeout)
            if case .network(let network) = answer {
                descriptions.note(hidesAddress: network.hidesAddress, over: number)
            }
        } catch {
            guard error.refusal != nil else { throw error.chatError }
            log.information("the core does not tell its network: \(error.sentence)")
            descriptions.note(hidesAddress: true, over: number)
        }
    }

    /// Whether the core talks through a proxy, and its relays.
    func takeNetwork() async throws(ChatError) {
        try await takeProxy()
        do throws(OfficialCoreError) {
            if case .relays(let relays) = try await connection.ask(.relays(user: profile)) {
                trust.follow(configured: relays)
            }
        } catch {
            guard error.refusal != nil else { throw error.chatError }
            log.information("the core does not tell its relays: \(error.sentence)")
        }
    }

    private func ask(_ command: APICommand) async throws(ChatError) -> APIResponse {
        do throws(OfficialCoreError) {
            return try await connection.askInBackground(command)
        } catch {
            throw error.chatError
        }
    }
}
