import Base
import ChatCore

/// Waits for messages that commands queued in the core until they are on a server.
///
/// Leaving a chat sends a message to the other members. The command returns when that message is in the
/// database; a core that ends at once sends it only after its next start (seen with 6.4.5).
final class PendingDeliveries: Sendable {
    private let connection: CoreConnection
    /// The core's message numbers of each command. They are ascending and unique.
    private let noted = Lock<[ClosedRange<Int64>]>([])

    private static let timeout = Duration.seconds(5)

    init(_ connection: CoreConnection) { self.connection = connection }

    /// Runs a command and records its messages, also if it fails.
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

    /// Waits, at most `limit`, until all recorded messages are on a server, which may be down for days.
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
                    "messages about a left chat not delivered before the core's next start")
                return
            }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Returns nil if the core does not support queries.
    private func last() async -> Int64? { await number("max(snd_message_delivery_id)", "1") }

    private func number(_ value: String, _ condition: String) async -> Int64? {
        let query = APICommand.agentQuery(
            "SELECT coalesce(\(value), 0) FROM snd_message_deliveries WHERE \(condition)")
        // Without an answer there is no wait.
        guard case .rows(let rows)? = try? await connection.ask(query, timeout: Self.timeout), rows.count == 2
        else { return nil }
        return Int64(rows[1])
    }
}
