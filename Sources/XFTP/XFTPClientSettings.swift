import Base
import Network

/// The settings of an `XFTPClient`. Tests shorten the delays.
public struct XFTPClientSettings: Sendable {
    /// Allowed destinations of connections that received descriptions name.
    public var policy: OutboundPolicy
    /// The proxy of every connection. With a proxy, relay names are not resolved locally.
    public var proxy: SOCKSProxy?
    /// The limit for TCP, TLS and handshake together.
    public var connectDeadline: Duration = .seconds(15)
    /// The base limit for a request.
    public var requestDeadline: Duration = .seconds(30)
    /// The additional limit for each KiB of chunk in a request.
    public var deadlinePerKiB: Duration = .milliseconds(5)
    /// The maximum number of connections to one relay.
    public var connectionsPerRelay = 4
    /// The limits of fetched chunks, over all downloads.
    public var fetching = FetchSettings()
    /// The maximum number of connections to a far relay (`FetchSettings.farAfter`). Each carries little per round trip, and requests wait behind
    /// the chunk on their connection.
    public var connectionsPerFarRelay = 8
    /// The maximum number of concurrent requests on one connection. At most 2, because the official relay stops reading
    /// when three uploads on one connection wait for bytes.
    public var requestsPerConnection = 2
    /// The time without any bytes from a relay after which a chunk's next relay is asked too.
    public var replicaTimeout: Duration = .milliseconds(2500)
    /// The time for which a failed relay comes after a chunk's other relays.
    public var failureMemory: Duration = .seconds(45)
    /// The time after which an unused connection is closed.
    public var idleTime: Duration = .seconds(30)
    public var retry = RetryPolicy(first: .milliseconds(100), maxDelay: .seconds(10), tries: 8)

    public init(policy: OutboundPolicy) { self.policy = policy }

    func deadline(bytes: Int) -> Duration { requestDeadline + deadlinePerKiB * ((bytes + 1023) / 1024) }
}
