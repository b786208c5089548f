import Base
import Network

/// How a client treats relays. The defaults are for use; tests shorten the waits.
public struct XFTPClientSettings: Sendable {
    /// Where connections may lead that descriptions of others name.
    public var policy: OutboundPolicy
    /// Every connection goes through it; names of relays are not looked up here then.
    public var proxy: SOCKSProxy?
    /// TCP, TLS and handshake together.
    public var connectDeadline: Duration = .seconds(15)
    /// For a request as such.
    public var requestDeadline: Duration = .seconds(30)
    /// And for each KiB of chunk in it.
    public var deadlinePerKiB: Duration = .milliseconds(5)
    /// Connections to one relay.
    public var connectionsPerRelay = 4
    /// A relay is far away when a round trip to it takes longer.
    public var farAfter: Duration = .milliseconds(20)
    /// Connections to one that is far away: each carries little in a round trip, and a request waits behind the
    /// chunk that is on its connection.
    public var connectionsPerFarRelay = 8
    /// Requests at once on one connection. Never more than 2: the official relay stops reading when
    /// three uploads wait for bytes on one connection.
    public var requestsPerConnection = 2
    /// A chunk's next relay is asked as well when the one before has sent nothing, in no transfer, for so
    /// long.
    public var replicaTimeout: Duration = .milliseconds(2500)
    /// A relay that failed or was silent comes after a chunk's other relays for so long.
    public var failureMemory: Duration = .seconds(45)
    /// An unused connection is closed after this.
    public var idleTime: Duration = .seconds(30)
    public var retry = RetryPolicy(first: .milliseconds(100), maxDelay: .seconds(10), tries: 8)

    public init(policy: OutboundPolicy) { self.policy = policy }

    func deadline(bytes: Int) -> Duration { requestDeadline + deadlinePerKiB * ((bytes + 1023) / 1024) }
}
