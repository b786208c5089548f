import SMP

/// When messages go through a proxy, so that the peer's server does not see this machine's address.
public struct PrivateRouting: Sendable {
    public enum Mode: Sendable {
        case never
        /// To servers that the user has not configured.
        case unknownServers
        case always
    }

    /// The behaviour if no proxy reaches a server.
    public enum Fallback: Sendable {
        /// The request fails.
        case none
        /// The request goes directly if a SOCKS proxy hides this machine's address.
        case whenProtected
        /// The request goes directly.
        case direct
    }

    public var mode: Mode
    public var fallback: Fallback
    /// The user's servers with their passwords. They are proxies for other servers, and are asked directly themselves.
    public var servers: [ServerAddress]

    public init(
        _ mode: Mode = .never, fallback: Fallback = .whenProtected, servers: [ServerAddress] = []
    ) {
        self.mode = mode
        self.fallback = fallback
        self.servers = servers
    }

    func routes(_ request: ClientRequest, to server: ServerAddress) -> Bool {
        guard ProxiedSession.carries(request.command) else { return false }
        switch mode {
        case .never: return false
        case .unknownServers: return !servers.contains(server)
        case .always: return true
        }
    }

    func mayAskDirectly(isProtected: Bool) -> Bool {
        switch fallback {
        case .none: false
        case .whenProtected: isProtected
        case .direct: true
        }
    }
}
