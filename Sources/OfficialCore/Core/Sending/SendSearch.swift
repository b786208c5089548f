import Base
import ChatCore

/// Searches for the message of a send whose answer was lost. Its file is in a folder with a unique name,
/// which identifies it among later messages.
struct SendSearch: Sendable {
    private let connection: CoreConnection
    private let settings: OfficialCoreSettings

    init(_ connection: CoreConnection, _ settings: OfficialCoreSettings) {
        self.connection = connection
        self.settings = settings
    }

    /// Searches once if the core has finished the send, else several times.
    ///
    /// - Returns: Nil if the core does not have the message; no proof while the send may still be running.
    /// - Throws: `.sendingUnsure` if the chat cannot be searched back to the start of the send;
    ///   `.sendingUndecided` if the core cannot be asked.
    func item(
        of send: BegunSend, in chat: ChatReference, mayBeUnderWay: Bool
    ) async throws(ChatError) -> APIItem? {
        var bound = send.newest
        let begin = ContinuousClock.now
        for moment in mayBeUnderWay ? settings.searchesForLostSend : [.zero] {
            try? await Task.sleep(until: begin + moment, clock: .continuous)
            switch try await searchWhenConnected(for: send, in: APIChatReference(chat), after: &bound) {
            case .found(let item): return item
            case .absent: continue
            case .undecided: throw Self.unsure
            }
        }
        return nil
    }

    /// The mark of a send whose file has a unique name on another machine. No folder has such a name.
    static func mark(ofStored name: String) -> String { storedMark + name }

    private static let storedMark = "stored/"

    private static func isMarked(_ path: String, by mark: String) -> Bool {
        mark.hasPrefix(storedMark)
            ? path == mark.dropFirst(storedMark.count) : path.pathNames.dropLast().contains(mark)
    }

    private enum Outcome {
        case found(APIItem)
        case absent
        /// Some candidates could not be examined.
        case undecided
    }

    /// Repeats a search that a lost connection ended, until `lostConnectionTimeout` has passed. A lost
    /// request fails before the connection counts as lost, so the first search can meet the old connection.
    ///
    /// - Throws: `.sendingUndecided` if the core cannot be asked.
    private func searchWhenConnected(
        for send: BegunSend, in chat: APIChatReference, after bound: inout ItemID
    ) async throws(ChatError) -> Outcome {
        let end = ContinuousClock.now + settings.lostConnectionTimeout
        while true {
            do throws(ChatError) {
                try await connection.waitUntilConnected(timeout: end - ContinuousClock.now)
            } catch {
                throw Self.undecided(error)
            }
            do throws(OfficialCoreError) {
                return try await search(for: send, in: chat, after: &bound)
            } catch {
                let isLost = error.code == .disconnected || error.code == .broken
                guard isLost, ContinuousClock.now < end, !Task.isCancelled else {
                    throw Self.undecided(error)
                }
            }
            try? await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Searches once through all items newer than `bound`, which becomes the newest item seen.
    private func search(
        for send: BegunSend, in chat: APIChatReference, after bound: inout ItemID
    ) async throws(OfficialCoreError) -> Outcome {
        guard let number = try await itemOfStagedFile(send.folder) else {
            return try await searchPages(for: send, in: chat, after: &bound)
        }
        guard number > 0 else { return .absent }
        // The item exists but not in its chat, so the user must decide.
        return try await item(numbered: ItemID(number), in: chat).map { .found($0) } ?? .undecided
    }

    /// Returns the item's number by the core's record of the path; 0 for none, nil if the core does not
    /// support queries. Uses the lane of sends, so the answer follows them.
    private func itemOfStagedFile(_ folder: String) async throws(OfficialCoreError) -> Int64? {
        guard !folder.hasPrefix(Self.storedMark) else { return nil }
        do throws(OfficialCoreError) {
            let answer = try await connection.ask(
                .query(
                    "SELECT coalesce(max(chat_item_id), 0) FROM files "
                        + "WHERE instr(file_path, '/\(folder)/') > 0"))
            guard case .rows(let rows) = answer, rows.count == 2 else { return nil }
            return Int64(rows[1])
        } catch {
            if error.refusal != nil { return nil }
            throw error
        }
    }

    private func item(
        numbered id: ItemID, in chat: APIChatReference
    ) async throws(OfficialCoreError) -> APIItem? {
        do throws(OfficialCoreError) {
            return try await connection.item(id, in: chat)
        } catch {
            if error.code == .notUnderstood { return nil }
            throw error
        }
    }

    /// Starts again from the newest page if the item at the search's position was deleted.
    private func searchPages(
        for send: BegunSend, in chat: APIChatReference, after bound: inout ItemID
    ) async throws(OfficialCoreError) -> Outcome {
        for _ in 0..<3 {
            do throws(OfficialCoreError) {
                return try await searchFromNewestPage(for: send, in: chat, after: &bound)
            } catch {
                guard error.refusal?.has("chatItemNotFound") == true else { throw error }
            }
        }
        return .undecided
    }

    /// Reads pages from the newest item back to the one before the send. Items are sorted by time, so older
    /// numbers may come between; only a page of nothing else ends the search.
    private func searchFromNewestPage(
        for send: BegunSend, in chat: APIChatReference, after bound: inout ItemID
    ) async throws(OfficialCoreError) -> Outcome {
        var page = APIPage.last(settings.pageSize)
        var newest = bound
        var last: ItemID?
        while true {
            guard case .chatPage(let answer) = try await connection.ask(.chatPage(chat, page)) else {
                return .undecided
            }
            let item = answer.items.last { item in
                // An older message may have a file of the same name, which is deleted on the phone.
                item.direction == .sent && item.id > send.newest
                    && item.file?.source.map { Self.isMarked($0.path, by: send.folder) } == true
            }
            if let item { return .found(item) }
            newest = max(newest, answer.items.map(\.id).max() ?? newest)
            let isOlder = !answer.items.isEmpty && answer.items.allSatisfy { $0.id <= bound }
            if answer.count == 0 || isOlder {
                bound = newest
                return .absent
            }
            // An unreadable or repeated page leads no further.
            guard let oldest = answer.items.first?.id, oldest != last else { return .undecided }
            last = oldest
            page = .before(oldest, count: settings.pageSize)
        }
    }

    // MARK: - A core that was killed

    /// Returns true if a message without an item was created after the core recorded a file from `folder`
    /// without an item. Returns false if the core does not support queries.
    ///
    /// The core records the file, creates the message, passes it to its agent, which sends it in any case,
    /// and only then creates the item (6.4.5). If it is killed before the last step, recipients have the
    /// message without an item here. A second send would duplicate the file.
    ///
    /// - Throws: `.sendingUndecided` if the core cannot be asked.
    func mayBeSentWithoutItem(_ folder: String) async throws(ChatError) -> Bool {
        guard !folder.hasPrefix(Self.storedMark) else { return false }
        do throws(ChatError) {
            let orphans = try await connection.pairs(
                .query(
                    "SELECT 'orphans', count(*) FROM messages m WHERE m.msg_sent = 1 "
                        + "AND m.chat_msg_event = 'x.msg.new' AND m.created_at >= (SELECT max(f.created_at) "
                        + "FROM files f WHERE instr(f.file_path, '/\(folder)/') > 0 AND f.chat_item_id IS NULL) "
                        + "AND NOT EXISTS "
                        + "(SELECT 1 FROM chat_item_messages c WHERE c.message_id = m.message_id)"))
            return orphans["orphans", default: 0] > 0
        } catch {
            throw Self.undecided(error)
        }
    }

    // MARK: - Errors of a send without an answer

    /// The search was as complete as possible, but the core may have the message.
    static let unsure = ChatError(
        .sendingUnsure,
        "The connection to the SimpleX core broke during the send, so the file may or may not "
            + "have been sent. Check the chat; 'chatfs retry' sends it again.")

    /// The search was not possible; the core may have the message.
    static func undecided(_ error: any DescribedError) -> ChatError {
        ChatError(
            .sendingUndecided,
            "ChatFS does not know yet whether the SimpleX core sent this file: \(error.sentence)",
            cause: error)
    }
}
