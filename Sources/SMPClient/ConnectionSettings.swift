import Base
import Network
import SMP

/// The connection settings of one profile.
public struct ConnectionSettings: Sendable {
    /// The proxy for connections and name lookups, or nil for direct ones. Its isolation separates profiles.
    public var proxy: SOCKSProxy?
    /// The rules for sending through proxies of SMP.
    public var routing: PrivateRouting
    /// The time limit for lookup, TCP, proxy, TLS and hello together, for each host of a server.
    public var connectTimeout: Duration
    /// The idle time after which a connection without subscriptions is closed.
    public var idleTimeout: Duration
    /// The time limit for a transmission of the server after a network change.
    public var probeTimeout: Duration
    /// The delays after failures. They bound retries for listeners; a request retries after `first`.
    public var retry: RetryPolicy
    public var random: any RandomSource
    /// The policy for servers that others named. Servers of the profile's own queues are permitted.
    public var policy: OutboundPolicy
    /// Called with a server that the policy refused, on the server's thread. Must not wait for a connection.
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
        // A circuit of Tor takes longer to build.
        self.connectTimeout = connectTimeout ?? .seconds(proxy == nil ? 15 : 45)
        self.idleTimeout = idleTimeout
        self.probeTimeout = probeTimeout
        self.retry = retry
        self.random = random
    }

    /// Returns the hosts to try, best first: the hidden service first with a proxy, and never without one.
    func hosts(of hosts: [String]) -> [String] {
        let hidden = hosts.filter { Endpoint.isOnion($0) }
        let others = hosts.filter { !Endpoint.isOnion($0) }
        return proxy == nil ? others : hidden + others
    }
}
