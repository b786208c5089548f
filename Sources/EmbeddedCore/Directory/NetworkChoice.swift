import Network
import SMP
import SMPClient

/// What a user chose for how a profile reaches the network. It counts from the next time the profile is opened.
public struct NetworkChoice: Hashable, Sendable {
    /// Whether messages to other people's servers are handed to one of the user's own, which hands them on, so that the
    /// others' servers do not see this machine's address. The words are stored.
    public enum Routing: String, CaseIterable, Sendable {
        case never
        /// To servers that are not configured in the profile.
        case unknown
        case always
    }

    /// What happens where no server hands on. The words are stored.
    public enum Fallback: String, CaseIterable, Sendable {
        /// The other's server is not reached.
        case never
        /// It is asked directly where a SOCKS proxy hides the address.
        case protected
        case always
    }

    /// A SOCKS5 proxy for everything; nil: directly.
    public var proxy: Endpoint?
    public var routing: Routing
    public var fallback: Fallback
    /// Whether contacts are told that their messages have arrived.
    public var sendsReceipts: Bool

    public init(
        proxy: Endpoint? = nil, routing: Routing = .never, fallback: Fallback = .protected,
        sendsReceipts: Bool = true
    ) {
        self.proxy = proxy
        self.routing = routing
        self.fallback = fallback
        self.sendsReceipts = sendsReceipts
    }

    /// The proxy for one profile while it is open: the proxy keeps what goes through it apart from all else.
    /// - Parameter isolation: what no other profile has, 1 to 255 bytes.
    func proxy(isolation: String) -> SOCKSProxy? { proxy.map { SOCKSProxy($0, isolation: isolation) } }

    /// - Parameters:
    ///   - servers: those of the profile, which carry what goes to others.
    ///   - policy: where connections may lead that others name.
    func connectionSettings(
        isolation: String, servers: [ServerAddress], policy: OutboundPolicy
    ) -> ConnectionSettings {
        ConnectionSettings(
            policy: policy, proxy: proxy(isolation: isolation),
            routing: PrivateRouting(mode, fallback: way, servers: servers))
    }

    private var mode: PrivateRouting.Mode {
        switch routing {
        case .never: .never
        case .unknown: .unknownServers
        case .always: .always
        }
    }

    private var way: PrivateRouting.Fallback {
        switch fallback {
        case .never: .none
        case .protected: .whenProtected
        case .always: .direct
        }
    }
}
