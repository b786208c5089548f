import Base
import Cryptography
import Network

/// What a message relay is told at its start.
public struct MessageRelaySettings: Sendable {
    /// Made when missing, mode 0700: queues and their messages.
    public var folder: String
    /// Port 0 takes the port of the last time when it is still free, else any.
    public var listen: Endpoint
    /// What its address names; nil: the host on which it listens.
    public var host: String?
    /// Certificates, of which addresses name the fingerprint.
    public var identity: ServerIdentity
    /// Asked of who makes queues, nil for nobody. A secret.
    public var password: String?
    /// Bytes of queues and messages on disk in all, nil for no limit but the disk.
    public var quota: UInt64?
    /// Age at which a message goes, fetched or not.
    public var expiry: Duration
    /// Time after which a queue goes that nobody has used since it was made.
    public var unusedQueues: Duration = .seconds(7 * 86_400)
    /// Time without any use after which any queue goes: nobody has subscribed, sent or asked anything.
    public var idleQueues: Duration = .seconds(90 * 86_400)
    /// With which the records are sealed; nil: they are in clear.
    public var key: SecretBytes?
    public var handsOn: HandsOn = .toNobody
    public var limits = Limits()
    public var clock: any WallClock
    public var random: any RandomSource

    /// Whether requests of clients are handed on to other servers, which then do not see where clients are. Who may
    /// make queues may ask for it.
    public enum HandsOn: Sendable {
        case toNobody
        /// To servers that the policy lets through, which counts for each address that asks.
        case to(OutboundPolicy)
    }

    /// What a client may cost.
    public struct Limits: Sendable {
        /// Connections at once; further ones are closed at once.
        public var connections = 768
        /// The same of one address, which leaves others some.
        public var connectionsOfPeer = 512
        /// Bytes of memory for what clients have asked and are told, all together, beyond 52 KiB for each.
        public var memory = 64 << 20
        /// From accepting to the end of the TLS handshake, and again to the client's hello.
        public var handshake: Duration = .seconds(30)
        /// How long a client may refuse to take more of what it asked for.
        public var stall: Duration = .seconds(120)
        /// How long a connection may say nothing before it has shown a key that belongs here.
        public var stranger: Duration = .seconds(300)
        /// The same afterwards, as the official server has it.
        public var idle: Duration = .seconds(6 * 3600)
        /// Queues that an address may make in an hour.
        public var newQueues = 1000
        /// Other servers that something is handed on to at once, each a connection and a thread; and as many more that
        /// are not reached yet.
        public var otherServers = 64
        /// Of which so many are one connection's; with the next it loses the one that it has not used for longest.
        public var waysOut = 16
        /// Messages that a queue holds; the next one is refused until all were fetched.
        public var messages = 128

        public init() {}
    }

    public init(
        folder: String, listen: Endpoint = Endpoint(host: "127.0.0.1", port: 0), identity: ServerIdentity,
        password: String? = nil, quota: UInt64? = nil, expiry: Duration = .seconds(21 * 86_400),
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
