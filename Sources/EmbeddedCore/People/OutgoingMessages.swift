import Agent
import Base
import ChatCore
import ChatProtocol

/// Passes messages from the store to the agent, in order. A row is deleted once the agent has stored its
/// message. The row's number serves as idempotency key, so a message passed twice is sent once.
final class OutgoingMessages: Sendable {
    private let store: ProfileStore
    private let retry: RetryPolicy

    init(_ store: ProfileStore, retry: RetryPolicy) {
        self.store = store
        self.retry = retry
    }

    /// Passes the next message on.
    func sendNext(over agent: any ConnectionAgent) async -> WorkOutcome {
        do throws(ChatError) {
            let next = try await store.reading { try $0.outgoing.first() }
            guard let next else { return .idle }
            let isOver = try await hand(next, to: agent)
            try await blocking.run { [self] in try note(next, isOver) }
            return .more
        } catch {
            log.warning("message not passed to agent, retrying: error=\(error.sentence)")
            return .retry(retry)
        }
    }

    private enum Handing: Sendable {
        case taken(Int64)
        case refused(AgentError)
    }

    /// - Throws: temporary errors; the caller retries.
    private func hand(
        _ next: OutgoingTable.Waiting, to agent: any ConnectionAgent
    ) async throws(ChatError) -> Handing {
        var outcome: Handing
        do throws(AgentError) {
            let number = try await agent.send(
                next.body, to: next.connection, notifies: next.notifies,
                identifier: Array("chatfs-\(next.number)".utf8))
            outcome = .taken(number)
        } catch {
            switch error.code {
            case .store, .stopped, .serverUnreachable:
                throw ChatError(.file(.unreachable), error.sentence, cause: error)
            default: outcome = .refused(error)
            }
        }
        if next.ends {
            do throws(AgentError) {
                try await agent.delete(next.connection, afterSending: true)
            } catch {
                guard error.code == .noSuchConnection || error.code == .ended else {
                    throw ChatError(.file(.unreachable), error.sentence, cause: error)
                }
            }
        }
        return outcome
    }

    private func note(_ sent: OutgoingTable.Waiting, _ outcome: Handing) throws {
        try store.commit { change in
            try change.tables.outgoing.remove(sent.number)
            let message = HandedMessageTable.Message(
                id: sent.id, item: sent.item, delivery: sent.delivery, announces: sent.announces)
            switch outcome {
            case .taken(let number):
                let early = try change.tables.handed.note(
                    message, of: sent.connection, as: number, at: change.elapsed)
                if let early { try change.settle(message, of: sent.connection, early) }
            case .refused(let error):
                try change.settle(message, of: sent.connection, .failed(error.sentence))
            }
        }
    }
}
