import SMP
import XFTP

/// Servers that a user approves, by their addresses: relays for files (`xftp://`), and servers for messages (`smp://`).
struct ApprovedServers: Sendable {
    private(set) var relays: [RelayAddress] = []
    private(set) var servers: [ServerAddress] = []

    /// nil where one is no address. Passwords are dropped: nobody asks these servers for a place.
    init?(_ addresses: [String]) {
        for address in addresses {
            if let relay = RelayAddress(address) {
                relays.append(relay.withoutPassword)
            } else if let server = ServerAddress(address) {
                servers.append(server)
            } else {
                return nil
            }
        }
    }
}

extension MountedCore {
    /// Blocks.
    func approve(_ approved: ApprovedServers) throws {
        if !approved.relays.isEmpty { try approve(approved.relays) }
        if !approved.servers.isEmpty { try approveServers(approved.servers) }
    }
}
