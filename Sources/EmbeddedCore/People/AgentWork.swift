import Agent
import Base
import SMP

/// Passes the stored work of a profile to its agent. The parts run concurrently.
final class AgentWork: Sendable {
    private enum Part: CaseIterable {
        case messages
        case answers
        /// Of their own, because they wait for servers that other people chose.
        case invitations
        case members
    }

    let answers: RequestAnswers
    private let messages: OutgoingMessages
    private let members: MemberConnections
    private let parts = WorkQueue<Part>()

    /// - Parameters:
    ///   - server: returns a server for links, or nil. Blocks.
    ///   - joined: called after a joined group or member's link was stored. Blocks.
    init(
        _ store: ProfileStore, retry: RetryPolicy, server: @escaping @Sendable () throws -> ServerAddress?,
        joined: @escaping @Sendable () throws -> Void
    ) {
        answers = RequestAnswers(store, retry: retry, joined: joined)
        messages = OutgoingMessages(store, retry: retry)
        members = MemberConnections(store, retry: retry, server: server, joined: joined)
    }

    /// Reports possible work. Returns at once.
    func notify() { for part in Part.allCases { parts.wake(part) } }

    func begin(over agent: any ConnectionAgent) {
        notify()
        parts.begin { [answers, messages, members] part in
            switch part {
            case .messages: return await messages.sendNext(over: agent)
            case .answers: await answers.give(to: agent)
            case .invitations: await answers.joinInvitations(over: agent)
            case .members: return await members.make(over: agent)
            }
            return .idle
        }
    }

    /// Passes on messages and answers, until `end` at the latest.
    func finish(until end: ContinuousClock.Instant) async {
        members.close()
        _ = await parts.rest(until: end)
    }

    /// Cancels all work.
    func close() async { await parts.close() }
}
