import ChatCore
import Network
import SMP
import XFTP

/// The relays of a profile: where it uploads to, and which it may contact to download. Changes count
/// at the next transfer, also in a process that has the profile open. All methods block.
extension DataDirectory {
    /// Keeps relays in a profile, with their passwords. Uploads are spread over all of them.
    /// - Throws: `.noSuchProfile`, `.storage`, `.file(.noSpace)`.
    public func addRelays(_ relays: [RelayAddress], to profile: Profile) throws(ChatError) {
        try wrapping {
            try store.change { tables in
                try Self.require(profile, tables)
                try tables.relays.add(relays.map(RelayWithPassword.init), to: profile.id)
            }
        }
    }

    /// Somebody may have deleted it since it was looked up.
    static func require(_ profile: Profile, _ tables: DirectoryTables) throws {
        guard try tables.profiles.name(of: profile.id) == nil else { return }
        throw ChatError(.noSuchProfile, "There is no profile \(profile.displayName) any more.")
    }

    /// Keeps messaging servers in a profile, with their passwords: others reach it there. One that is there keeps its
    /// place; a password given now replaces the one that was kept.
    /// - Throws: `.noSuchProfile`, `.storage`, `.file(.noSpace)`.
    public func addMessagingServers(_ servers: [ServerAddress], to profile: Profile) throws(ChatError) {
        try wrapping {
            try store.change { tables in
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
    }

    /// - Returns: those of `servers` that were configured.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func removeMessagingServers(
        _ servers: [ServerAddress], from profile: Profile
    ) throws(ChatError) -> [ServerAddress] {
        try wrapping {
            try store.change { tables in
                try servers.filter { server in
                    guard let known = try tables.messagingServers.text(of: server, in: profile.id) else {
                        return false
                    }
                    return try tables.messagingServers.remove(known, from: profile.id)
                }
            }
        }
    }

    /// Where others reach a profile, with passwords.
    /// - Throws: `.storage`.
    public func messagingServers(of profile: Profile) throws(ChatError) -> [ServerAddress] {
        try wrapping {
            try store.read { try $0.messagingServers.configured(of: profile.id) }
                .compactMap { ServerAddress($0) }
        }
    }

    /// The relays that a profile uploads to, without passwords.
    /// - Throws: `.storage`.
    public func configuredRelays(of profile: Profile) throws(ChatError) -> [RelayAddress] {
        try wrapping {
            try store.read { try $0.relays.configured(of: profile.id) }.compactMap {
                RelayAddress($0.address)
            }
        }
    }

    /// The same with their passwords, which are secrets.
    /// - Throws: `.storage`.
    public func configuredRelaysWithPasswords(of profile: Profile) throws(ChatError) -> [RelayAddress] {
        try wrapping {
            try store.read { try $0.relays.configured(of: profile.id) }.compactMap(\.relayAddress)
        }
    }

    /// Forgets relays, with their passwords. What was uploaded to them stays there until it expires; what is
    /// being uploaded goes on.
    /// - Returns: those of `relays` that were configured.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func removeRelays(
        _ relays: [RelayAddress], from profile: Profile
    ) throws(ChatError) -> [RelayAddress] {
        try wrapping {
            try store.change { tables in
                try relays.filter { try tables.relays.remove($0.text, from: profile.id) }
            }
        }
    }

    /// Takes approvals back: what is not received yet is not fetched from there any more.
    /// - Returns: those of `relays` that were approved.
    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func revokeRelays(
        _ relays: [RelayAddress], of profile: Profile
    ) throws(ChatError) -> [RelayAddress] {
        try wrapping {
            try store.change { tables in
                try relays.filter { relay in
                    try relay.places.map { try tables.relays.revoke($0, of: profile.id) }
                        .contains(true)
                }
            }
        }
    }

    /// Lets a profile receive files from these relays: this fingerprint at this host and port.
    /// - Throws: `.noSuchProfile`, `.storage`, `.file(.noSpace)`.
    public func approveRelays(_ relays: [RelayAddress], for profile: Profile) throws(ChatError) {
        try wrapping {
            try store.change { tables in
                try Self.require(profile, tables)
                for endpoint in relays.flatMap(\.places) {
                    try tables.relays.approve(endpoint, for: profile.id)
                }
            }
        }
    }

    /// - Throws: `.storage`.
    public func approvedRelays(of profile: Profile) throws(ChatError) -> [RelayAddress] {
        try wrapping {
            let rules = try store.read { try $0.relays.rules(of: profile.id) }
            return rules.approved.map { endpoint in
                RelayAddress(
                    fingerprint: endpoint.fingerprint, hosts: [endpoint.host], port: endpoint.port)
            }.sorted { $0.text < $1.text }
        }
    }

    /// What happens with files on relays that are neither configured nor approved.
    /// - Throws: `.storage`.
    public func relayPolicy(of profile: Profile) throws(ChatError) -> RelayApprovalPolicy {
        try wrapping { try store.read { try $0.relays.rules(of: profile.id).policy } }
    }

    /// - Throws: `.storage`, `.file(.noSpace)`.
    public func setRelayPolicy(
        _ policy: RelayApprovalPolicy, of profile: Profile
    ) throws(ChatError) {
        try wrapping { try store.change { try $0.relays.setPolicy(policy, of: profile.id) } }
    }
}

extension RelayWithPassword {
    init(_ relay: RelayAddress) { self.init(address: relay.text, password: relay.password) }

    /// The relay to upload to, nil when the address does not parse.
    var relayAddress: RelayAddress? {
        guard let parsed = RelayAddress(address) else { return nil }
        guard let password else { return parsed }
        return RelayAddress(
            fingerprint: parsed.fingerprint, hosts: parsed.hosts, port: parsed.port, password: password)
    }
}
