import Base
import ChatCore
import Posix
import Store

/// Looking for what no event told: events are lost when a connection breaks, and another client of the
/// same core takes them for good.
extension OfficialCore {
    private static let mostChats = 5000
    /// Transfers looked at in one look.
    private static let mostTransfers = 20

    func reconcile(_ look: Look) async {
        defer { signalHistory() }
        guard state.withLock({ $0.isConnected }) else { return }
        do throws(ChatError) {
            if look == .whole {
                try await watchDatabase()
                try await doubtUnfinishedWalks()
            }
            try await lookAtChats()
            try await lookAtTransfers()
            try await lookForLostUploads()
            if look == .whole {
                try await lookForParts()
                try await compareCounts(.whole)
                try await noteNetwork()
            } else if try await hasChanged() {
                doubtWatch()
                try await compareCounts(.newest)
            }
            if mustLookByTheClock { planLook() }
        } catch {
            // The connection, mostly: then the look after the next one does it.
            log.information("the chats could not be compared: \(error.sentence)")
            planLook()
        }
    }

    /// All chats; of those with a newer message the newest page.
    func lookAtChats() async throws(ChatError) {
        let command = APICommand.chats(user: profile.id, count: Self.mostChats)
        guard case .chats(let infos) = try await background(command) else {
            throw ChatError(.internalError, "The SimpleX core gave no list of chats.")
        }
        let changed = try await work { [self] in
            try commit { change -> [APIChatReference] in
                var known: [String: Timestamp] = [:]
                for (chat, updated) in try change.connection.query(
                    "SELECT chat, updated FROM chat", row: { ($0.text(0), $0.timestamp(1)) })
                {
                    known[chat] = updated
                }
                var changed: [APIChatReference] = []
                for info in infos {
                    let updated = known[info.reference.description]
                    if let updated, updated < info.updatedAt { changed.append(info.reference) }
                    try change.take(info)
                    try change.connection.execute(
                        "UPDATE chat SET listed = 1 WHERE chat = ? AND listed = 0",
                        info.reference.chat.description)
                }
                // A contact that was never written to is not listed, and not gone.
                let listed = try change.connection.query("SELECT chat FROM chat WHERE listed = 1") {
                    $0.text(0)
                }
                let present = Set(infos.map(\.reference.chat.description))
                for chat in listed where !present.contains(chat) && infos.count < Self.mostChats {
                    if let reference = ChatReference(chat) { try change.removeChat(reference) }
                }
                return changed
            }
        }
        for chat in changed { try await catchUp(chat) }
    }

    /// Reads back from the newest message until everything is known.
    private func catchUp(_ chat: APIChatReference) async throws(ChatError) {
        var page = APIPage.last(settings.pageSize)
        // Deeper than that the walk through the history goes.
        for _ in 0..<20 {
            let began = ContinuousClock.now
            guard case .chatPage(let answer) = try await background(.chatPage(chat, page)) else { return }
            let isMissing = try await work { [self] in
                try commit { change in
                    var isNew = false
                    for item in answer.items where !wasTold(item.id, since: began) {
                        let known = try ItemRows.item(item.id, change.connection) != nil
                        let shown = try change.take(item, .look) != nil
                        isNew = isNew || (shown && !known)
                    }
                    return isNew
                }
            }
            guard isMissing, let oldest = answer.items.first?.id else { return }
            page = .before(oldest, count: settings.pageSize)
        }
        try await walkAgain([chat.description])
    }

    /// Transfers whose end may have been told to somebody else.
    private func lookAtTransfers() async throws(ChatError) {
        let moving = try await work { [self] in
            try index.read { connection in
                try connection.query(
                    """
                    SELECT id, reference FROM item WHERE \(Schema.isMoving)
                    ORDER BY id DESC LIMIT ?
                    """, Self.mostTransfers
                ) { (ItemID($0.integer(0)), $0.text(1)) }
            }
        }
        for (id, text) in moving {
            guard let reference = APIChatReference(text: text) else { continue }
            let began = ContinuousClock.now
            let item = try await find(id, in: reference)
            try await work { [self] in
                try commit { change in
                    if wasTold(id, since: began) { return }
                    if let item { try change.take(item, .look) } else { try change.removeUntold([id]) }
                }
            }
        }
    }

    /// Whether the core talks through a proxy, and its relays.
    func noteNetwork() async throws(ChatError) {
        do throws(OfficialCoreError) {
            if case .network(let network) = try await ask(.network) {
                state.withLock { $0.hidesAddress = network.hidesAddress }
            }
            if case .relays(let relays) = try await ask(.relays(user: profile.id)) {
                trust.follow(configured: relays)
            }
        } catch {
            guard error.refusal != nil else { throw error.chatError }
            log.information("the core does not tell its relays: \(error.sentence)")
        }
    }

    /// Rows of numbers; nil when the core answers no questions about its database.
    func select(_ statement: String) async throws(ChatError) -> [[Int64]]? {
        do throws(OfficialCoreError) {
            let response = try await transport.request(
                .query(statement), lane: .background, timeout: .seconds(60))
            guard case .rows(let rows) = response else { return nil }
            return rows.dropFirst().map { row in
                row.split(separator: "|", omittingEmptySubsequences: false).map { Int64($0) ?? 0 }
            }
        } catch {
            if error.refusal != nil { return nil }
            throw error.chatError
        }
    }

    private func background(_ command: APICommand) async throws(ChatError) -> APIResponse {
        do throws(OfficialCoreError) {
            return try await transport.request(command, lane: .background, timeout: .seconds(60))
        } catch {
            throw error.chatError
        }
    }
}
