import Base
import ChatCore
import CoreServices

/// Reads what is not in the index yet: the chats with the newest messages first, one page at a time. Everybody who
/// waits for the core goes first.
final class HistoryReader: Sendable {
    private let connection: CoreConnection
    private let index: IndexStore
    private let recent: RecentEvents
    /// Items asked for at once.
    private let pageSize: Int

    private static let retry = RetryPolicy(first: .milliseconds(500), maxDelay: .seconds(60), tries: .max)

    init(
        _ connection: CoreConnection, _ index: IndexStore, _ recent: RecentEvents, pageSize: Int
    ) {
        self.connection = connection
        self.index = index
        self.recent = recent
        self.pageSize = pageSize
    }

    /// Sleeps until `signals` says that there may be something to do; ends with its task, or with the stream.
    /// - Parameter finished: called when something was read and nothing is left that can be. Returns at once.
    func run(_ signals: AsyncStream<Void>, finished: () -> Void) async {
        var refused: Set<APIChatReference> = []
        var failures = 0
        for await _ in signals {
            var hasRead = false
            while !Task.isCancelled, connection.isConnected {
                do throws(ChatError) {
                    guard let walk = try await nextWalk(except: refused) else { break }
                    await connection.letOthersGoFirst()
                    switch try await attempt(walk) {
                    case .done: (failures, hasRead) = (0, true)
                    case .refused: refused.insert(walk.reference)
                    case .failed: failures += 1
                    }
                } catch {
                    log.warning("the history cannot be read: \(error.sentence)")
                    failures += 1
                }
                if failures > 0, let delay = Self.retry.delay(beforeTry: failures + 1) {
                    try? await Task.sleep(for: delay)
                }
            }
            if hasRead { finished() }
        }
    }

    private enum Outcome {
        case done
        /// For good, such as a part of a group that this member may not see, or one that is not understood.
        case refused
        case failed
    }

    /// One page of a walk.
    private func attempt(_ walk: Walk) async throws(ChatError) -> Outcome {
        do throws(OfficialCoreError) {
            return try await step(walk)
        } catch {
            if error.refusal?.has("chatItemNotFound") == true {
                // The message at which the walk stood is gone.
                try await blocking.run { [index] in try index.write { try $0.walks.restart(walk) } }
                return .failed
            }
            return error.refusal == nil ? .failed : .refused
        }
    }

    private func nextWalk(
        except refused: Set<APIChatReference>
    ) async throws(ChatError) -> Walk? {
        try await blocking.run { [index] in try index.read { try $0.walks.unfinished() } }
            .first { !refused.contains($0.reference) }
    }

    private func step(_ walk: Walk) async throws(OfficialCoreError) -> Outcome {
        let began = ContinuousClock.now
        let page: APIPage = walk.frontier.map { .before($0, count: pageSize) } ?? .last(pageSize)
        guard
            case .chatPage(let answer) = try await connection.askInBackground(.chatPage(walk.reference, page))
        else { throw OfficialCoreError(.notUnderstood, "The SimpleX core gave no messages.") }
        if answer.items.isEmpty, answer.count > 0 {
            // No end: what lies behind it was not deleted.
            log.notice("a page of the history is not understood: what is older is not looked for")
            return .refused
        }
        do throws(ChatError) {
            try await blocking.run { [self] in
                try index.commit { change in try note(answer, of: walk, began, change) }
            }
        } catch {
            log.warning("the history could not be noted: \(error.sentence)")
            throw OfficialCoreError(.system, error.sentence, cause: error)
        }
        return .done
    }

    private func note(
        _ page: APIChatPage, of walk: Walk, _ began: ContinuousClock.Instant, _ change: IndexChange
    ) throws {
        // Deleted with all that it holds while the page was under way.
        guard try change.tables.chats.chat(walk.reference.chat) != nil else { return }
        for item in page.items where !recent.contains(item.id, since: began) { try change.take(item, .look) }
        let start = walk.frontier == nil ? try newest(of: page, walk, began, change.tables) : walk.start
        if let oldest = page.items.first?.id, oldest != walk.frontier {
            return try change.tables.walks.advance(walk, to: oldest, start: start)
        }
        // The end: what the walk has not met is not in the core any more.
        let missed = try change.tables.items.ids(
            in: walk.reference.description, notMetBy: walk.number, upTo: start)
        try change.removeUntold(missed.filter { !recent.contains($0, since: began) })
        try change.tables.walks.end(walk)
    }

    /// Where a walk begins: at the newest message that the core has, or that was known before it was asked:
    /// a newer one that it does not name is gone.
    private func newest(
        of page: APIChatPage, _ walk: Walk, _ began: ContinuousClock.Instant, _ tables: IndexTables
    ) throws -> Int64 {
        let newest = page.items.map(\.id.rawValue).max() ?? 0
        let known = try tables.items.ids(in: walk.reference.description, after: newest)
            .filter { !recent.contains($0, since: began) }
        return max(walk.start, newest, known.map(\.rawValue).max() ?? 0)
    }
}
