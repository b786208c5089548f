import ChatCore
import Network
import SMP
import SMPClient

/// Approvals of other people's messaging servers inside this machine's own network. All methods block.
extension DataDirectory {
    /// Approves servers by fingerprint, host and port.
    /// - Throws: `.noSuchProfile`, `.storage`, `.file(.noSpace)`.
    public func approveServers(_ servers: [ServerAddress], for profile: Profile) throws(ChatError) {
        try change { tables in
            try Self.require(profile, tables)
            for server in servers {
                for place in server.places {
                    try tables.relays.approve(place, .messages, for: profile.id)
                }
                try tables.network(of: profile.id).refusedServers.remove(server)
            }
        }
    }

    /// Revokes approvals. Existing connections stay until they end.
    /// - Returns: those of `servers` that were approved.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func revokeServers(
        _ servers: [ServerAddress], of profile: Profile
    ) throws(ChatError) -> [ServerAddress] {
        try change { tables in
            try servers.filter { server in
                try server.places.map { try tables.relays.revoke($0, of: profile.id) }.contains(true)
            }
        }
    }

    /// - Throws: `.storage`.
    public func approvedServers(of profile: Profile) throws(ChatError) -> [ServerAddress] {
        try read { try $0.relays.approved(.messages, of: profile.id) }.compactMap { place in
            ServerAddress(fingerprint: place.fingerprint, hosts: [place.host], port: place.port)
        }.sorted { $0.text < $1.text }
    }

    /// Returns the servers that wait for approval, latest first.
    /// - Throws: `.storage`.
    public func refusedServers(of profile: Profile) throws(ChatError) -> [ServerAddress] {
        try read { try $0.network(of: profile.id).refusedServers.all() }
    }
}
