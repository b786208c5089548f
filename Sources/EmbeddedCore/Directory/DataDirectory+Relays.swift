import ChatCore
import Network
import SMP
import XFTP

/// A profile's upload relays and the relays approved for downloads. Changes apply to the next transfer, in
/// other processes too. All methods block.
extension DataDirectory {
    /// Adds relays with their passwords. Uploads are spread over all of them.
    /// - Throws: `.noSuchProfile`, `.storage`, `.file(.noSpace)`.
    public func addRelays(_ relays: [RelayAddress], to profile: Profile) throws(ChatError) {
        try change { tables in
            try Self.require(profile, tables)
            try tables.relays.add(relays.map(RelayWithPassword.init), to: profile.id)
        }
    }

    /// Throws if the profile was deleted since its lookup.
    static func require(_ profile: Profile, _ tables: DirectoryTables) throws {
        guard try tables.profiles.name(of: profile.id) == nil else { return }
        throw ChatError(.noSuchProfile, "There is no profile \(profile.displayName) any more.")
    }

    /// Adds messaging servers with their passwords, for the profile's own queues. A known server keeps its
    /// position and takes a new password, if given.
    /// - Throws: `.noSuchProfile`, `.storage`, `.file(.noSpace)`.
    public func addMessagingServers(_ servers: [ServerAddress], to profile: Profile) throws(ChatError) {
        try change { tables in
            try Self.require(profile, tables)
            for server in servers {
                let known = try tables.messagingServers.text(of: server, in: profile.id)
                if let known, server.password != nil {
                    try tables.messagingServers.replace(
                        known, by: server.textWithPassword, of: profile.id)
                } else if known == nil {
                    try tables.messagingServers.add([server.textWithPassword], to: profile.id)
                }
            }
        }
    }

    /// - Returns: those of `servers` that were configured.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func removeMessagingServers(
        _ servers: [ServerAddress], from profile: Profile
    ) throws(ChatError) -> [ServerAddress] {
        try change { tables in
            try servers.filter { server in
                guard let known = try tables.messagingServers.text(of: server, in: profile.id) else {
                    return false
                }
                return try tables.messagingServers.remove(known, from: profile.id)
            }
        }
    }

    /// Returns the profile's messaging servers with passwords.
    /// - Throws: `.storage`.
    public func messagingServers(of profile: Profile) throws(ChatError) -> [ServerAddress] {
        try read { try $0.messagingServers.configured(of: profile.id) }.compactMap { ServerAddress($0) }
    }

    /// Returns the profile's upload relays without passwords.
    /// - Throws: `.storage`.
    public func configuredRelays(of profile: Profile) throws(ChatError) -> [RelayAddress] {
        try read { try $0.relays.configured(of: profile.id) }.compactMap {
            RelayAddress($0.address)
        }
    }

    /// Returns the profile's upload relays with their secret passwords.
    /// - Throws: `.storage`.
    public func configuredRelaysWithPasswords(of profile: Profile) throws(ChatError) -> [RelayAddress] {
        try read { try $0.relays.configured(of: profile.id) }.compactMap(\.relayAddress)
    }

    /// Removes relays and their passwords. Uploaded files stay there until they expire; uploads under way
    /// continue.
    /// - Returns: those of `relays` that were configured.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func removeRelays(
        _ relays: [RelayAddress], from profile: Profile
    ) throws(ChatError) -> [RelayAddress] {
        try change { tables in
            try relays.filter { try tables.relays.remove($0.text, from: profile.id) }
        }
    }

    /// Revokes approvals. Files not yet received are no longer downloaded from there.
    /// - Returns: those of `relays` that were approved.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func revokeRelays(
        _ relays: [RelayAddress], of profile: Profile
    ) throws(ChatError) -> [RelayAddress] {
        try change { tables in
            try relays.filter { relay in
                try relay.places.map { try tables.relays.revoke($0, of: profile.id) }
                    .contains(true)
            }
        }
    }

    /// Approves relays for downloads, by fingerprint, host and port.
    /// - Throws: `.noSuchProfile`, `.storage`, `.file(.noSpace)`.
    public func approveRelays(_ relays: [RelayAddress], for profile: Profile) throws(ChatError) {
        try change { tables in
            try Self.require(profile, tables)
            for endpoint in relays.flatMap(\.places) {
                try tables.relays.approve(endpoint, for: profile.id)
            }
        }
    }

    /// - Throws: `.storage`.
    public func approvedRelays(of profile: Profile) throws(ChatError) -> [RelayAddress] {
        try read { try $0.relays.rules(of: profile.id) }.approved.map { endpoint in
            RelayAddress(fingerprint: endpoint.fingerprint, hosts: [endpoint.host], port: endpoint.port)
        }.sorted { $0.text < $1.text }
    }

    /// Returns the policy for relays that are neither configured nor approved.
    /// - Throws: `.storage`.
    public func relayPolicy(of profile: Profile) throws(ChatError) -> RelayApprovalPolicy {
        try read { try $0.relays.rules(of: profile.id).policy }
    }

    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func setRelayPolicy(
        _ policy: RelayApprovalPolicy, of profile: Profile
    ) throws(ChatError) {
        try change { try $0.relays.setPolicy(policy, of: profile.id) }
    }
}

extension RelayWithPassword {
    init(_ relay: RelayAddress) { self.init(address: relay.text, password: relay.password) }

    /// The relay address with its password; nil if it does not parse.
    var relayAddress: RelayAddress? {
        guard let parsed = RelayAddress(address) else { return nil }
        guard let password else { return parsed }
        return RelayAddress(
            fingerprint: parsed.fingerprint, hosts: parsed.hosts, port: parsed.port, password: password)
    }
}
