import Base
import ChatCore

/// Messages that commands left in the core's database for others, until the core has given them to the network.
///
/// That a chat was left is said to the others in a message. The command is answered when the message is in the
/// database; a core that ends at once says it only when it is started the next time (seen with 6.4.5).
final class PendingDeliveries: Sendable {
    private let connection: CoreConnection
    /// The core's numbers of the messages of each command. They only grow, and are not used again.
    private let noted = Lock<[ClosedRange<Int64>]>([])

    private static let timeout = Duration.seconds(5)

    init(_ connection: CoreConnection) { self.connection = connection }

    /// Carries out a command whose messages are to be waited for, also those of one that failed half-way.
    func collect<Result>(
        _ command: () async throws(ChatError) -> Result
    ) async throws(ChatError) -> Result {
        let before = await last()
        do throws(ChatError) {
            let result = try await command()
            await note(since: before)
            return result
        } catch {
            await note(since: before)
            throw error
        }
    }

    private func note(since before: Int64?) async {
        guard let before, let after = await last(), after > before else { return }
        noted.withLock { $0.append(before + 1...after) }
    }

    /// Waits until all of them are with a relay, for `limit` at most: a relay may be away for days.
    func wait(limit: Duration) async {
        let ranges = noted.withLock { $0 }
        guard !ranges.isEmpty else { return }
        let those = ranges.map { "snd_message_delivery_id BETWEEN \($0.lowerBound) AND \($0.upperBound)" }
        let end = ContinuousClock.now + limit
        while connection.isConnected,
            let count = await number("count(*)", "failed = 0 AND (\(those.joined(separator: " OR ")))"),
            count > 0
        {
            guard ContinuousClock.now < end else {
                log.notice(
                    "the SimpleX core tells the others of a chat that was left when it is started again")
                return
            }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    /// nil from a core that answers no questions about its database.
    private func last() async -> Int64? { await number("max(snd_message_delivery_id)", "1") }

    private func number(_ value: String, _ condition: String) async -> Int64? {
        let query = APICommand.agentQuery(
            "SELECT coalesce(\(value), 0) FROM snd_message_deliveries WHERE \(condition)")
        // What the core does not answer is not waited for.
        guard case .rows(let rows)? = try? await connection.ask(query, timeout: Self.timeout), rows.count == 2
        else { return nil }
        return Int64(rows[1])
    }
}
