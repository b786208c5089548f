import Base
import ChatCore
import Posix
import Store

/// A walk through the history of one chat, or of one part of a group: page by page from the newest message
/// to the oldest. Its place is kept, so it goes on after a restart.
struct Walk: Sendable {
    var reference: APIChatReference
    var number: Int64
    /// Newest item when the walk began; 0 before its first page.
    var start: Int64
    /// Oldest item of the last page; nil before the first.
    var frontier: ItemID?

    init?(_ row: borrowing Row) {
        guard let reference = APIChatReference(text: row.text(0)) else { return nil }
        self.reference = reference
        number = row.integer(1)
        start = row.integer(2)
        frontier = row.integerOrNil(3).map(ItemID.init)
    }
}

extension OfficialCore {
    /// Reads what is not in the index yet, the chats with the newest messages first, one page at a time,
    /// and lets everybody who waits for the core go first. Sleeps until `signals` says that there may be
    /// something to do.
    func fillInHistory(_ signals: AsyncStream<Void>) async {
        var refused: Set<APIChatReference> = []
        var failures = 0
        for await _ in signals {
            while !Task.isCancelled, state.withLock({ $0.isConnected }) {
                do throws(ChatError) {
                    guard let walk = try await nextWalk(except: refused) else { break }
                    await letOthersGoFirst()
                    switch try await attempt(walk) {
                    case .done: failures = 0
                    case .refused: refused.insert(walk.reference)
                    case .failed: failures += 1
                    }
                } catch {
                    log.warning("the history cannot be read: \(error.sentence)")
                    failures += 1
                }
                if failures > 0, let pause = Self.retry.delay(beforeTry: failures + 1) {
                    try? await Task.sleep(for: pause)
                }
            }
        }
    }

    private static let retry = RetryPolicy(first: .milliseconds(500), longest: .seconds(60), tries: .max)

    private enum Outcome {
        case done
        /// For good, such as a part of a group that this member may not see.
        case refused
        case failed
    }

    /// One page of a walk.
    private func attempt(_ walk: Walk) async throws(ChatError) -> Outcome {
        do throws(OfficialCoreError) {
            try await step(walk)
            return .done
        } catch {
            if error.refusal?.has("chatItemNotFound") == true {
                try await work { [self] in try restart(walk) }
                return .failed
            }
            return error.refusal == nil ? .failed : .refused
        }
    }

    /// There may be a walk to begin or to go on with.
    func signalHistory() { state.withLock { $0.history }?.yield() }

    private func letOthersGoFirst() async {
        let patience = ContinuousClock.now + .seconds(1)
        while state.withLock({ $0.waiting > 0 }), ContinuousClock.now < patience {
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    private func nextWalk(
        except refused: Set<APIChatReference>
    ) async throws(ChatError) -> Walk? {
        try await work { [self] in
            try index.read { connection in
                try connection.query(
                    """
                    SELECT walk.reference, walk.number, walk.start, walk.frontier FROM walk
                    JOIN chat ON chat.chat = walk.chat WHERE walk.done = 0
                    ORDER BY chat.updated DESC, walk.reference
                    """, row: { Walk($0) }
                ).compactMap { $0 }.first { !refused.contains($0.reference) }
            }
        }
    }

    /// One page.
    private func step(_ walk: Walk) async throws(OfficialCoreError) {
        let began = ContinuousClock.now
        let count = settings.pageSize
        let page: APIPage = walk.frontier.map { .before($0, count: count) } ?? .last(count)
        let response = try await transport.request(
            .chatPage(walk.reference, page), lane: .background, timeout: .seconds(60))
        guard case .chatPage(let answer) = response else {
            throw OfficialCoreError(.notUnderstood, "The SimpleX core gave no messages.")
        }
        do throws(ChatError) {
            try await work { [self] in
                try commit { change in try note(answer, of: walk, began, change) }
            }
        } catch {
            log.warning("the history could not be noted: \(error.sentence)")
            throw OfficialCoreError(.system, error.sentence, cause: error)
        }
    }

    private func note(
        _ page: APIChatPage, of walk: Walk, _ began: ContinuousClock.Instant, _ change: Change
    ) throws {
        for item in page.items where !wasTold(item.id, since: began) { try change.take(item, .look) }
        let start = walk.frontier == nil ? try newest(of: page, walk, began, change) : walk.start
        if let oldest = page.items.first?.id, oldest != walk.frontier {
            try change.connection.execute(
                "UPDATE walk SET frontier = ?, start = ? WHERE reference = ? AND number = ?",
                oldest.rawValue, start, walk.reference.description, walk.number)
            return
        }
        // The end: what the walk has not met is not in the core any more.
        let reference = walk.reference.description
        let missed = try change.connection.query(
            "SELECT id FROM item WHERE reference = ? AND seen < ? AND id <= ?", reference, walk.number, start
        ) { ItemID($0.integer(0)) }
        try change.removeUntold(missed.filter { !wasTold($0, since: began) })
        try change.connection.execute(
            """
            UPDATE walk SET done = 1 - again, number = number + again, start = 0, frontier = NULL, again = 0
            WHERE reference = ? AND number = ?
            """, reference, walk.number)
    }

    /// Where a walk begins: at the newest message that the core has, or that was known before it was asked:
    /// a newer one that it does not name is gone.
    private func newest(
        of page: APIChatPage, _ walk: Walk, _ began: ContinuousClock.Instant, _ change: Change
    ) throws -> Int64 {
        let newest = page.items.map(\.id.rawValue).max() ?? 0
        let known = try change.connection.query(
            "SELECT id FROM item WHERE reference = ? AND id > ?", walk.reference.description, newest
        ) { ItemID($0.integer(0)) }
        return max(walk.start, newest, known.filter { !wasTold($0, since: began) }.map(\.rawValue).max() ?? 0)
    }

    /// The message at which the walk stood is gone: from the newest on once more.
    private func restart(_ walk: Walk) throws {
        try index.transaction { connection in
            try connection.execute(
                """
                UPDATE walk SET number = number + 1, start = 0, frontier = NULL, done = 0
                WHERE reference = ?
                """, walk.reference.description)
        }
    }
}
