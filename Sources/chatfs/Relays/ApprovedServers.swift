import SMP
import XFTP

/// Server addresses to approve: file relays (`xftp://`) and message servers (`smp://`).
struct ApprovedServers: Sendable {
    private(set) var relays: [RelayAddress] = []
    private(set) var servers: [ServerAddress] = []

    /// Returns nil if a text is no address. Drops passwords, which only creating chunks or queues needs.
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
    /// Approves the servers. Blocks.
    func approve(_ approved: ApprovedServers) throws {
        if !approved.relays.isEmpty { try approve(approved.relays) }
        if !approved.servers.isEmpty { try approveServers(approved.servers) }
    }
}
