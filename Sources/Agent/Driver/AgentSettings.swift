import Base
import SMP

/// How an agent is to work.
public struct AgentSettings: Sendable {
    /// Where queues are made for links that are joined: one that the other side does not use, where there is one.
    public var servers: [ServerAddress]
    /// Whether the post-quantum KEM is used where it is installed and the other side does too. Messages have less space
    /// then.
    public var postQuantum: Bool
    public var times: AgentTimes
    /// Who is to be blamed for connections to the server of a connection's other side, by the connection and why it is
    /// wanted (`ClientRequest.peer`).
    public var peer: Peer = { id, _ in "connection \(id.number)" }

    public typealias Peer = @Sendable (_ connection: ConnectionID, _ reason: String?) -> String

    public init(servers: [ServerAddress], postQuantum: Bool = false, times: AgentTimes = .init()) {
        self.servers = servers
        self.postQuantum = postQuantum
        self.times = times
    }
}

/// When something is tried again, and when it is given up.
public struct AgentTimes: Sendable {
    /// After a server could not be asked.
    public var network = RetryPolicy(first: .seconds(2), maxDelay: .seconds(120), tries: .max)
    /// After the other side's queue was full. It says by itself when it has capacity again.
    public var fullQueue = RetryPolicy(first: .seconds(300), maxDelay: .seconds(21_600), tries: .max)
    /// After a server refused what was sent over a connection that stands, as it does for a queue that is not there.
    public var refusal = RetryPolicy(first: .seconds(300), maxDelay: .seconds(21_600), tries: .max)
    /// After so many such refusals in a row the contact is taken to have deleted the connection,
    public var goneRefusals = 5
    /// when the first of them is at least so long ago.
    public var goneAfter = Duration.seconds(86_400)
    /// While a queue that was replaced is being emptied.
    public var emptying = RetryPolicy(first: .seconds(2), maxDelay: .seconds(300), tries: .max)
    /// After the database could not be read or written.
    public var store = RetryPolicy(first: .seconds(1), maxDelay: .seconds(60), tries: .max)
    /// How long a message is tried.
    public var giveUp = Duration.seconds(2 * 86_400)
    public var giveUpFull = Duration.seconds(7 * 86_400)
    /// How long a message waits for new keys.
    public var giveUpWithoutKeys = Duration.seconds(21 * 86_400)
    /// When it is looked again whether something still waits for the other side, with which no server can help.
    public var lookAgain = Duration.seconds(3600)
    /// How long a server has for an answer.
    public var answer = ClientRequest.backgroundTimeout
    public var interactiveAnswer = ClientRequest.interactiveTimeout

    public init() {}
}
