import Base
import Network
import Testing

@testable import Agent
@testable import SMP
@testable import SMPClient

/// Compares waits, retries and retention with those of official clients.
@Suite("Times that the network expects")
struct NetworkTimesTests {
    struct Time: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let own: Duration
        let expected: Duration

        init(_ what: String, _ own: Duration, _ expected: Duration) {
            (testDescription, self.own, self.expected) = (what, own, expected)
        }
    }

    private static let day = Duration.seconds(86_400)
    private static let agent = AgentTimes()
    private static let connections = ConnectionSettings(policy: .everything)

    // Without the random reduction.
    private static func first(_ policy: RetryPolicy) -> Duration {
        policy.delay(beforeTry: 2, jitter: 0) ?? .zero
    }

    private static func longest(_ policy: RetryPolicy) -> Duration {
        policy.delay(beforeTry: 1000, jitter: 0) ?? .zero
    }

    static let times = [
        Time("an answer that somebody waits for", ClientRequest.interactiveTimeout, .seconds(10)),
        Time("an answer that nobody waits for", ClientRequest.backgroundTimeout, .seconds(30)),
        Time("an answer to what the agent sends", agent.answer, .seconds(30)),
        Time("a connection", connections.connectTimeout, .seconds(15)),
        Time("silence before a server is asked for a sign", ClientSession.silenceBeforePing, .seconds(600)),
        Time("silence before a connection is given up", ClientSession.silenceBeforeEnd, .seconds(900)),
        Time("how long a message is tried", agent.giveUp, day * 2),
        Time("how long a message to a full queue is tried", agent.giveUpFull, day * 7),
        Time("how long it is known what was received", AgentStore.receivedAge, day * 21),
        Time("the first delay of a message", first(agent.network), .seconds(2)),
        Time("the longest delay of a message", longest(agent.network), .seconds(120)),
        Time("the first delay of a full queue", first(agent.fullQueue), .seconds(300)),
        Time("the longest delay of a full queue", longest(agent.fullQueue), .seconds(21_600)),
        Time("the first delay of a connection", first(connections.retry), .seconds(2)),
        Time("the longest delay of a connection", longest(connections.retry), .seconds(180)),
    ]

    @Test("times match official clients", arguments: times)
    func official(time: Time) {
        #expect(time.own == time.expected)
    }

    @Test("retry delays grow without end")
    func growing() {
        for policy in [Self.agent.network, Self.agent.fullQueue, Self.connections.retry] {
            let delays = (2..<200).map { policy.delay(beforeTry: $0, jitter: 0) }
            #expect(delays.allSatisfy { $0 != nil })
            #expect(delays.compactMap(\.self) == delays.compactMap(\.self).sorted())
        }
    }
}
