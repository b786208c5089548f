import Network
import SMP
import SMPClient

/// A profile's network settings. They apply when the profile is next opened.
public struct NetworkChoice: Hashable, Sendable {
    /// When messages are sent through one of the user's own servers (private routing), which hides this
    /// machine's address from the destination. The raw values are stored.
    public enum Routing: String, CaseIterable, Sendable {
        case never
        /// For servers that are not configured in the profile.
        case unknown
        case always
    }

    /// Behaviour if no server supports routing. The raw values are stored.
    public enum Fallback: String, CaseIterable, Sendable {
        /// The destination is not contacted.
        case never
        /// Direct connection, only if a SOCKS proxy hides the address.
        case protected
        case always
    }

    /// SOCKS5 proxy of all connections; nil connects directly.
    public var proxy: Endpoint?
    public var routing = Routing.never
    public var fallback = Fallback.protected
    /// Whether to send delivery receipts.
    public var sendsReceipts = true

    /// Returns the proxy for an open profile.
    /// - Parameter isolation: unique per profile, 1 to 255 bytes. The proxy keeps connections with different
    ///   values apart.
    func proxy(isolation: String) -> SOCKSProxy? { proxy.map { SOCKSProxy($0, isolation: isolation) } }

    /// - Parameters:
    ///   - servers: the profile's servers, used for private routing.
    ///   - policy: permitted destinations for addresses named by other people.
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
