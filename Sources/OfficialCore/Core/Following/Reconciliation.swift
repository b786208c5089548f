import Base
import ChatCore
import CoreServices

/// Finds changes without events: events are lost when a connection breaks, or go to another client of the
/// same core.
///
/// A change (an event or a write to the core's database) causes one comparison some seconds later. Without
/// changes there is none. Comparisons are periodic only if changes could go unnoticed: a program sends each
/// event to one of its clients, so others are visible only in its database.
final class Reconciliation: Sendable {
    private struct State {
        /// A comparison is scheduled.
        var isPlanned = false
        /// Messages may be unread in chats whose last message is known by an event.
        var isBehind = true
        /// A whole comparison has ended since the current connection requested one.
        var hasCompared = false
        /// After that comparison, all readable history was read.
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
    /// For a phone, which answers no questions about its database.
    private let review: HistoryReview?
    private let history: WorkSignal
    private let requests: AsyncStream<ReconciliationScope>
    private let request: AsyncStream<ReconciliationScope>.Continuation
    private let state = Lock(State())

    private static let maxChats = 5000
    /// The number of chats that a screen shows.
    private static let firstChats = 30
    /// Transfers examined in one comparison.
    private static let maxTransfers = 20
    /// Maximum pages to catch up with a chat; older items are left to the walk.
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
        review = settings.phone == nil ? nil : HistoryReview(connection, index, recent)
        (requests, request) = AsyncStream.makeStream(of: ReconciliationScope.self)
    }

    // MARK: - Scheduling

    /// Runs requested comparisons until its task is cancelled or `end` is called.
    func run() async {
        for await scope in requests {
            await reconcile(scope)
            if Task.isCancelled { return }
        }
    }

    /// Schedules a comparison of the newest items after `reconcileInterval`. Returns at once.
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

    /// Requests a whole comparison as the next one. Returns at once.
    func requestWhole() {
        state.withLock { ($0.hasCompared, $0.isBehind) = (false, true) }
        request.yield(.whole)
    }

    /// Records that all readable history was read. Returns at once.
    /// - Parameter hasRead: True if some of it was read just before.
    func noteHistoryRead(hasRead: Bool) {
        state.withLock { $0.hasReadAll = true }
        if hasRead, comparison.hasLeftOut { request.yield(.leftOut) }
    }

    func end() {
        request.finish()
        watch.end()
    }

    var hasCompared: Bool { state.withLock { $0.hasCompared } }
    /// True even if some of it was refused.
    var hasReadAll: Bool { state.withLock { $0.hasReadAll } }
    var isPlanned: Bool { state.withLock { $0.isPlanned } }
    var isWatchingDatabase: Bool { watch.isActive }

    /// True if the next comparison needs no change.
    private var isPeriodic: Bool {
        guard settings.phone == nil else { return false }
        return lostUploads.hasUploads || settings.ownership != .library && !watch.isActive
    }

    // MARK: - Comparison

    private func reconcile(_ scope: ReconciliationScope) async {
        defer { history.notify() }
        guard connection.isConnected else { return }
        do throws(ChatError) {
            if !descriptions.isNetworkKnown { await takeNetworkAnew() }
            if let review { return try await reconcile(with: review) }
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
            // A later comparison repeats it. A lost connection is logged as such.
            if error.code != .file(.unreachable) {
                log.information("chats not compared, retrying: error=\(error.sentence)")
            }
            comparison.noteFailure()
            state.withLock { $0.isBehind = true }
            plan()
        }
    }

    private func reconcile(with review: HistoryReview) async throws(ChatError) {
        try await takeChats()
        // The walk reads unknown history meanwhile.
        history.notify()
        try await review.run()
        state.withLock { ($0.hasCompared, $0.hasReadAll) = (true, false) }
    }

    /// Takes the chats with the newest messages, which are shown before the others are requested.
    func takeFirstChats() async throws(ChatError) {
        try await takeChats(count: Self.firstChats, isBehind: true)
    }

    /// Compares all chats and reads the new messages of those with a newer one.
    func takeChats() async throws(ChatError) {
        // A request from now on holds for the next comparison.
        let isBehind = state.withLock { state in
            defer { state.isBehind = false }
            return state.isBehind
        }
        try await takeChats(count: Self.maxChats, isBehind: isBehind)
    }

    private func takeChats(count: Int, isBehind: Bool) async throws(ChatError) {
        let command = APICommand.chats(user: profile, count: count)
        let began = ContinuousClock.now
        guard case .chats(let infos) = try await ask(command) else {
            throw ChatError(.internalError, "The SimpleX core returned no list of chats.")
        }
        let changed = try await index.committing { [recent] change in
            try Self.note(
                infos, isWhole: count == Self.maxChats && infos.count < count, isBehind: isBehind, change
            ) { recent.contains($0, since: began) }
        }
        for (info, compared) in changed { try await catchUp(info, from: compared) }
    }

    /// Writes the list of chats and returns those with a newer message, newest first, each with the time of
    /// the newest read one. They stay changed until `catchUp` has read them.
    /// - Parameters:
    ///   - isWhole: True if the list contains all chats.
    ///   - isBehind: True if events do not show which messages were read.
    ///   - isOutdated: Returns true if the list may be older than the known state of a chat.
    private static func note(
        _ infos: [APIChatInfo], isWhole: Bool, isBehind: Bool, _ change: IndexChange,
        _ isOutdated: (ChatReference) -> Bool
    ) throws -> [(info: APIChatInfo, compared: Timestamp)] {
        let known = try change.tables.chats.updates()
        var changed: [(info: APIChatInfo, compared: Timestamp)] = []
        for info in infos.sorted(by: { $0.updatedAt > $1.updatedAt }) {
            let before = known[info.reference.description]
            if let before, (isBehind ? before.compared : before.updated) < info.updatedAt {
                changed.append((info, before.compared))
            } else if before != nil {
                try change.tables.chats.noteCompared(info.reference.chat, to: info.updatedAt)
            }
            guard !isOutdated(info.reference.chat) else { continue }
            try change.take(info)
            try change.tables.chats.noteListed(info.reference.chat)
        }
        // A contact without messages is not listed but exists.
        let listed = try change.tables.chats.listed()
        let present = Set(infos.map(\.reference.chat.description))
        for chat in listed where isWhole && !present.contains(chat) {
            if let reference = ChatReference(chat), !isOutdated(reference) {
                try change.removeChat(reference)
            }
        }
        return changed
    }

    /// Reads pages from the newest message back to known ones that are not newer than `compared`. Leaves a
    /// chat to its walk if the core refuses a page.
    private func catchUp(_ info: APIChatInfo, from compared: Timestamp) async throws(ChatError) {
        let chat = info.reference
        var page = APIPage.last(settings.pageSize)
        pages: for _ in 0..<Self.maxPages {
            let began = ContinuousClock.now
            let answer: APIChatPage
            do throws(OfficialCoreError) {
                guard case .chatPage(let told) = try await connection.askInBackground(.chatPage(chat, page))
                else { break pages }
                answer = told
            } catch {
                guard error.refusal != nil else { throw error.chatError }
                log.information("chat not compared, reading it again: error=\(error.sentence)")
                break pages
            }
            let isMissing = try await index.committing { [recent] change in
                // The chat was deleted during the request.
                guard try change.tables.chats.chat(chat.chat) != nil else { return false }
                change.holdsTexts = true
                var isNew = false
                for item in answer.items where !recent.contains(item.id, since: began) {
                    let known = try change.tables.items.item(item.id) != nil
                    let shown = try change.take(item, .look) != nil
                    isNew = isNew || (shown && !known)
                }
                return isNew
            }
            let isNew = answer.items.first.map { max($0.time, $0.createdAt) > compared } ?? false
            guard isMissing || isNew, let oldest = answer.items.first?.id else {
                return try await noteCompared(info)
            }
            page = .before(oldest, count: settings.pageSize)
        }
        try await comparison.walkAgain([chat.chat.description])
        try await noteCompared(info)
    }

    private func noteCompared(_ info: APIChatInfo) async throws(ChatError) {
        try await index.committing { change in
            try change.tables.chats.noteCompared(info.reference.chat, to: info.updatedAt)
            try change.placeTexts(of: info.reference)
        }
    }

    /// Reads items with running transfers, because their last events may have gone to another client.
    private func takeTransfers() async throws(ChatError) {
        let moving = try await index.reading { try $0.items.moving(limit: Self.maxTransfers) }
        for (id, text) in moving {
            guard let reference = APIChatReference(text: text) else { continue }
            let began = ContinuousClock.now
            let item = try await connection.knownItem(id, in: reference)
            try await index.committing { [recent] change in
                if recent.contains(id, since: began) { return }
                if let item { try change.take(item, .look) } else { try change.removeUntold([id]) }
            }
        }
    }

    /// Reads the network settings of a possibly restarted core. Until it answers over this connection, it
    /// counts as hiding the user's address (`Descriptions`).
    func takeNetworkAnew() async {
        do throws(ChatError) {
            try await takeProxy()
        } catch {
            // The next comparison asks again. A lost connection is logged as such.
            if error.code != .file(.unreachable) {
                log.information("core network settings not read: error=\(error.sentence)")
            }
        }
    }

    /// Runs in the foreground, because the new connection waits for it.
    private func takeProxy() async throws(ChatError) {
        let number = connection.number
        do throws(OfficialCoreError) {
            let answer = try await connection.ask(.network, timeout: settings.connectTimeout)
            if case .network(let network) = answer {
                descriptions.note(hidesAddress: network.hidesAddress, over: number)
            }
        } catch {
            guard error.refusal != nil else { throw error.chatError }
            log.information("core network settings not supported: error=\(error.sentence)")
            descriptions.note(hidesAddress: true, over: number)
        }
    }

    /// Reads the core's proxy setting and its relays.
    func takeNetwork() async throws(ChatError) {
        try await takeProxy()
        do throws(OfficialCoreError) {
            if case .relays(let relays) = try await connection.ask(.relays(user: profile)) {
                trust.follow(configured: relays)
            }
        } catch {
            guard error.refusal != nil else { throw error.chatError }
            log.information("core relays not read: error=\(error.sentence)")
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
