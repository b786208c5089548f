import Base
import ChatCore
import CoreServices

/// Reads the history into the index, page by page, chats with the newest messages first. Foreground commands
/// have priority.
struct HistoryReader: Sendable {
    let connection: CoreConnection
    let index: IndexStore
    let recent: RecentEvents
    /// Items per request.
    let pageSize: Int

    private static let retry = RetryPolicy(first: .milliseconds(500), maxDelay: .seconds(60), tries: .max)

    /// Reads after each signal until no page is left. Ends with its task or the stream.
    /// - Parameter finished: Called when no readable page is left, with true if pages were read. Must return
    ///   at once.
    func run(_ signals: AsyncStream<Void>, finished: (_ hasRead: Bool) -> Void) async {
        var refused: Set<APIChatReference> = []
        var failures = 0
        for await _ in signals {
            var hasRead = false
            while !Task.isCancelled, connection.isConnected {
                do throws(ChatError) {
                    guard let walk = try await nextWalk(except: refused) else {
                        finished(hasRead)
                        break
                    }
                    await connection.letOthersGoFirst()
                    switch try await attempt(walk) {
                    case .done: (failures, hasRead) = (0, true)
                    case .refused: refused.insert(walk.reference)
                    case .failed: failures += 1
                    }
                } catch {
                    log.warning("history not read, retrying: error=\(error.sentence)")
                    failures += 1
                }
                if failures > 0 { _ = await Self.retry.wait(beforeTry: failures + 1) }
            }
        }
    }

    private enum Outcome {
        case done
        /// Permanent, for example for a part of a group that this member may not see, or an unsupported
        /// answer.
        case refused
        case failed
    }

    /// Reads one page of a walk.
    private func attempt(_ walk: Walk) async throws(ChatError) -> Outcome {
        do throws(OfficialCoreError) {
            return try await step(walk)
        } catch {
            if error.refusal?.has("chatItemNotFound") == true {
                // The message at the walk's position was deleted.
                try await blocking.run { [index] in try index.write { try $0.walks.restart(walk) } }
                return .failed
            }
            return error.refusal == nil ? .failed : .refused
        }
    }

    private func nextWalk(
        except refused: Set<APIChatReference>
    ) async throws(ChatError) -> Walk? {
        try await index.reading { try $0.walks.unfinished() }
            .first { !refused.contains($0.reference) }
    }

    private func step(_ walk: Walk) async throws(OfficialCoreError) -> Outcome {
        let began = ContinuousClock.now
        let page: APIPage = walk.frontier.map { .before($0, count: pageSize) } ?? .last(pageSize)
        guard
            case .chatPage(let answer) = try await connection.askInBackground(.chatPage(walk.reference, page))
        else { throw OfficialCoreError(.notUnderstood, "The SimpleX core returned no messages.") }
        if answer.items.isEmpty, answer.count > 0 {
            // This is not the end of the history, so older items are not removed.
            log.notice("history page not understood, older messages skipped")
            return .refused
        }
        do throws(ChatError) {
            try await blocking.run { [self] in
                try index.commit { change in try note(answer, of: walk, began, change) }
            }
        } catch {
            log.warning("history page not stored: error=\(error.sentence)")
            throw OfficialCoreError(.system, error.sentence, cause: error)
        }
        return .done
    }

    private func note(
        _ page: APIChatPage, of walk: Walk, _ began: ContinuousClock.Instant, _ change: IndexChange
    ) throws {
        // The chat was deleted during the request.
        guard try change.tables.chats.chat(walk.reference.chat) != nil else { return }
        for item in page.items where !recent.contains(item.id, since: began) { try change.take(item, .look) }
        let start = walk.frontier == nil ? try newest(of: page, walk, began, change.tables) : walk.start
        if let oldest = page.items.first?.id, oldest != walk.frontier {
            return try change.tables.walks.advance(walk, to: oldest, start: start)
        }
        // At the end, the core no longer has items that the walk did not find.
        let missed = try change.tables.items.ids(
            in: walk.reference.description, notMetBy: walk.number, upTo: start)
        try change.removeUntold(missed.filter { !recent.contains($0, since: began) })
        try change.endTexts(of: walk, upTo: start) { recent.contains($0, since: began) }
        try change.tables.walks.end(walk)
    }

    /// Returns the start of a walk: the newest message of the core, or a newer known one, which the core has
    /// deleted.
    private func newest(
        of page: APIChatPage, _ walk: Walk, _ began: ContinuousClock.Instant, _ tables: IndexTables
    ) throws -> Int64 {
        let newest = page.items.map(\.id.rawValue).max() ?? 0
        let known = try tables.items.ids(in: walk.reference.description, after: newest)
            .filter { !recent.contains($0, since: began) }
        return max(walk.start, newest, known.map(\.rawValue).max() ?? 0)
    }
}
