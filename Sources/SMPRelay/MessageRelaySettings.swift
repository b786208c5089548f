import Base
import Cryptography
import Network

/// The settings of a message relay.
public struct MessageRelaySettings: Sendable {
    /// The folder for queues and messages. Created with mode 0700 if missing.
    public var folder: String
    /// Port 0 means the previous port if it is free, otherwise any.
    public var listen: Endpoint
    /// The host in the relay's address, or nil for the listening host.
    public var host: String?
    /// The certificates. Addresses contain their fingerprint.
    public var identity: ServerIdentity
    /// The password for creating queues, or nil if none is required. Secret.
    public var password: String?
    /// The maximum bytes of queues and messages on disk, or nil for no limit.
    public var quota: UInt64?
    /// The age at which a message is deleted, fetched or not.
    public var expiry: Duration
    /// The time after which a queue is deleted that was never used.
    public var unusedQueues = usualUnusedQueues
    /// The time without subscription, message or request after which any queue is deleted.
    public var idleQueues = usualIdleQueues
    /// The encryption key of the records, or nil for plain records.
    public var key: SecretBytes?
    public var handsOn: HandsOn = .toNobody
    public var limits = Limits()
    public var clock: any WallClock
    public var random: any RandomSource

    /// Whether requests of clients are forwarded to other servers, which then do not see the clients' addresses. The
    /// password for creating queues also protects forwarding.
    public enum HandsOn: Sendable {
        case toNobody
        /// To servers that the policy allows. It counts requests for each client address.
        case to(OutboundPolicy)
    }

    /// The resource limits of clients.
    public struct Limits: Sendable {
        /// The maximum number of connections. Further ones are closed at once.
        public var connections = 768
        /// The maximum number of connections of one address.
        public var connectionsOfPeer = 512
        /// The memory for requests and answers of all clients in bytes, beyond 52 KiB for each.
        public var memory = 64 << 20
        /// The limit for the TLS handshake, and again for the client's hello.
        public var handshake: Duration = .seconds(30)
        /// The time for which a client may stop reading its answers.
        public var stall: Duration = .seconds(120)
        /// The idle time of a connection that has not shown a queue's key.
        public var stranger: Duration = .seconds(300)
        /// The idle time of other connections, as in the official server.
        public var idle: Duration = .seconds(6 * 3600)
        /// The number of queues that an address may create in an hour.
        public var newQueues = 1000
        /// The maximum number of other servers connected for forwarding, each with a thread. As many more may be
        /// connecting.
        public var otherServers = 64
        /// The maximum number of those for one client. The next one replaces the least recently used.
        public var waysOut = 16
        /// The maximum number of messages in a queue. A full queue refuses messages until all were fetched.
        public var messages = 128

        public init() {}
    }

    public static let usualExpiry: Duration = .seconds(21 * 86_400)
    public static let usualUnusedQueues: Duration = .seconds(7 * 86_400)
    public static let usualIdleQueues: Duration = .seconds(90 * 86_400)

    public init(
        folder: String, listen: Endpoint = Endpoint(host: "127.0.0.1", port: 0), identity: ServerIdentity,
        password: String? = nil, quota: UInt64? = nil, expiry: Duration = usualExpiry,
        key: SecretBytes? = nil, clock: any WallClock = SystemWallClock(),
        random: any RandomSource = SystemRandomSource()
    ) {
        self.folder = folder
        self.listen = listen
        self.identity = identity
        self.password = password
        self.quota = quota
        self.expiry = expiry
        self.key = key
        self.clock = clock
        self.random = random
    }
}
