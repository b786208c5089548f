import Base
import Network
import SMP

/// How one profile reaches messaging servers.
public struct ConnectionSettings: Sendable {
    /// Through which names and addresses go too; nil: directly. Its isolation keeps profiles apart.
    public var proxy: SOCKSProxy?
    /// Whether what is sent goes through servers of one's own.
    public var routing: PrivateRouting
    /// For the name, TCP, the proxy, TLS and the server's hello together, for each host of a server.
    public var connectTimeout: Duration
    /// A connection without subscriptions of which nothing is asked for so long is closed.
    public var idleTimeout: Duration
    /// How long a server has for a word after the network has changed.
    public var probeTimeout: Duration
    /// Delays after failures: the next try for who listens, and at once when somebody asks something after `first`.
    public var retry: RetryPolicy
    public var random: any RandomSource
    /// Which servers may be reached that others named. Those of one's own queues may.
    public var policy: OutboundPolicy
    /// Told of a server that the policy refused, on the server's thread: it must not wait for any connection.
    public var refused: @Sendable (ServerAddress) -> Void = { _ in }

    public init(
        policy: OutboundPolicy, proxy: SOCKSProxy? = nil, routing: PrivateRouting = PrivateRouting(),
        connectTimeout: Duration? = nil, idleTimeout: Duration = .seconds(300),
        probeTimeout: Duration = .seconds(10),
        retry: RetryPolicy = RetryPolicy(first: .seconds(2), maxDelay: .seconds(180), tries: .max),
        random: any RandomSource = SystemRandomSource()
    ) {
        self.policy = policy
        self.proxy = proxy
        self.routing = routing
        // A way through Tor takes longer to build.
        self.connectTimeout = connectTimeout ?? .seconds(proxy == nil ? 15 : 45)
        self.idleTimeout = idleTimeout
        self.probeTimeout = probeTimeout
        self.retry = retry
        self.random = random
    }

    /// Where to look for a server, best first: its hidden service where a proxy may know it, and never without one.
    func hosts(of hosts: [String]) -> [String] {
        let hidden = hosts.filter { Endpoint.isOnion($0) }
        let others = hosts.filter { !Endpoint.isOnion($0) }
        return proxy == nil ? others : hidden + others
    }
}
