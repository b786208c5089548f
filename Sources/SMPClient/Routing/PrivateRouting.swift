import SMP

/// Whether what is sent goes through a server of one's own, so that the peer's server does not see the address of this
/// machine.
public struct PrivateRouting: Sendable {
    public enum Mode: Sendable {
        case never
        /// To servers that the user has not configured.
        case unknownServers
        case always
    }

    /// What happens when no proxy can reach a server.
    public enum Fallback: Sendable {
        /// It is not reached.
        case none
        /// It is asked directly where a SOCKS proxy hides the address.
        case whenProtected
        /// It is asked directly.
        case direct
    }

    public var mode: Mode
    public var fallback: Fallback
    /// Those that the user has configured, with their passwords: they are asked directly, and carry what goes to others.
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
