import ChatCore
import Store
import XFTP

/// The relays of a profile: where it uploads to, and which it may contact to download. Changes count
/// at the next transfer, also in a process that has the profile open. All methods block.
extension DataDirectory {
    /// Keeps relays in a profile, with their passwords. Uploads go to all of them in turn.
    public func addRelays(_ relays: [RelayAddress], to profile: Profile) throws(ChatError) {
        try wrapping { try keepRelays(relays.map(RelayWithPassword.init), of: profile) }
    }

    /// The relays that a profile uploads to, without passwords.
    public func configuredRelays(of profile: Profile) throws(ChatError) -> [RelayAddress] {
        try wrapping { try relays(of: profile).compactMap { RelayAddress($0.address) } }
    }

    /// Forgets relays, with their passwords. What was uploaded to them stays there until it expires; what is
    /// being uploaded goes on.
    /// - Returns: those of `relays` that were configured.
    public func removeRelays(
        _ relays: [RelayAddress], from profile: Profile
    ) throws(ChatError) -> [RelayAddress] {
        try wrapping {
            try database.transaction { connection in
                try relays.filter { relay in
                    try connection.execute(
                        "DELETE FROM relay WHERE profile = ? AND address = ?", profile.id, relay.text) > 0
                }
            }
        }
    }

    /// Takes approvals back: what is not received yet is not fetched from there any more.
    /// - Returns: those of `relays` that were approved.
    public func revokeRelays(
        _ relays: [RelayAddress], of profile: Profile
    ) throws(ChatError) -> [RelayAddress] {
        try wrapping {
            try database.transaction { connection in
                try relays.filter { relay in
                    try RelayRules.Place.all(of: relay).map { place in
                        try connection.execute(
                            """
                            DELETE FROM approval
                            WHERE profile = ? AND fingerprint = ? AND host = ? AND port = ?
                            """, profile.id, place.fingerprint, place.host, Int(place.port))
                    }.contains { $0 > 0 }
                }
            }
        }
    }

    /// Lets a profile receive files from these relays: this fingerprint at this host and port.
    public func approveRelays(_ relays: [RelayAddress], for profile: Profile) throws(ChatError) {
        try wrapping {
            try database.transaction { connection in
                for place in relays.flatMap(RelayRules.Place.all) {
                    try connection.execute(
                        "INSERT OR IGNORE INTO approval (profile, fingerprint, host, port) VALUES (?, ?, ?, ?)",
                        profile.id, place.fingerprint, place.host, Int(place.port))
                }
            }
        }
    }

    public func approvedRelays(of profile: Profile) throws(ChatError) -> [RelayAddress] {
        try wrapping {
            let rules = try database.read { try relayRules(of: profile, $0) }
            return rules.approved.map { place in
                RelayAddress(fingerprint: place.fingerprint, hosts: [place.host], port: place.port)
            }.sorted { $0.text < $1.text }
        }
    }

    /// What happens with files on relays that are neither configured nor approved.
    public func relayPolicy(of profile: Profile) throws(ChatError) -> RelayApprovalPolicy {
        try wrapping { try database.read { try relayRules(of: profile, $0).policy } }
    }

    public func setRelayPolicy(
        _ policy: RelayApprovalPolicy, of profile: Profile
    ) throws(ChatError) {
        try wrapping {
            try database.transaction { connection in
                try connection.execute(
                    "UPDATE profile SET relay_policy = ? WHERE id = ?", policy.rawValue, profile.id)
            }
        }
    }
}

/// What happens with a file on relays that the user neither configured nor approved. None of these
/// opens this machine's own network.
public enum RelayApprovalPolicy: String, Sendable, CaseIterable {
    /// It is not received until the user approves.
    case ask
    /// It is received.
    case always
    /// It is not received; approving a single file does not help, approving the relay does.
    case never
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
