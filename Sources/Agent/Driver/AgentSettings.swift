import Base
import SMP

/// Configuration of an agent.
public struct AgentSettings: Sendable {
    /// Servers for the queues of joined links. A server that the peer does not use is preferred.
    public var servers: [ServerAddress]
    /// Whether to use the post-quantum KEM if it is installed and the peer supports it. It reduces the
    /// maximum message size.
    public var postQuantum: Bool
    public var times: AgentTimes
    /// Returns the peer that named a server (`ClientRequest.peer`), given the connection and its reason; nil
    /// for the user. The connection is nil while its link is fetched.
    public var peer: Peer = { id, _ in id.map { "connection \($0.number)" } }

    public typealias Peer = @Sendable (_ connection: ConnectionID?, _ reason: String?) -> String?

    public init(servers: [ServerAddress], postQuantum: Bool = false, times: AgentTimes = .init()) {
        self.servers = servers
        self.postQuantum = postQuantum
        self.times = times
    }
}

/// Retry intervals and expiry times.
public struct AgentTimes: Sendable {
    /// Retries after a server was unreachable.
    public var network = RetryPolicy(first: .seconds(2), maxDelay: .seconds(120), tries: .max)
    /// Retries while the peer's queue is full. The peer also announces free space (`QC`).
    public var fullQueue = RetryPolicy(first: .seconds(300), maxDelay: .seconds(21_600), tries: .max)
    /// Retries after `ERR AUTH` on an established connection.
    public var refusal = RetryPolicy(first: .seconds(300), maxDelay: .seconds(21_600), tries: .max)
    /// Refusals in a row after which a contact counts as gone,
    public var goneRefusals = 5
    /// and the minimum time since the first of them.
    public var goneAfter = Duration.seconds(86_400)
    /// Retries while a replaced queue is drained.
    public var emptying = RetryPolicy(first: .seconds(2), maxDelay: .seconds(300), tries: .max)
    /// Retries after a database error.
    public var store = RetryPolicy(first: .seconds(1), maxDelay: .seconds(60), tries: .max)
    /// Time after which an unsent message fails.
    public var giveUp = Duration.seconds(2 * 86_400)
    public var giveUpFull = Duration.seconds(7 * 86_400)
    /// Time after which a message that waits for new keys fails.
    public var giveUpWithoutKeys = Duration.seconds(21 * 86_400)
    /// Time after which a queue is forgotten that its server neither empties nor deletes, or whose server is away. No
    /// server keeps a message longer.
    public var giveUpQueue = Duration.seconds(21 * 86_400)
    /// Interval of checks for messages that wait for the peer.
    public var lookAgain = Duration.seconds(3600)
    /// Time limit of a server's reply.
    public var answer = ClientRequest.backgroundTimeout
    public var interactiveAnswer = ClientRequest.interactiveTimeout

    public init() {}
}
