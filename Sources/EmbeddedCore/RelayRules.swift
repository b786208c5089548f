import Base
import ChatCore
import Store
import XFTP

/// Which relays a profile may contact to receive a file. Contacting one shows it the user's network
/// address, and the sender chose it.
struct RelayRules: Sendable {
    /// One place of one relay, as the user approves it.
    struct Place: Hashable, Sendable {
        var fingerprint: [UInt8]
        var host: String
        var port: UInt16

        static func all(of relay: RelayAddress) -> [Place] {
            relay.hosts.map {
                Place(fingerprint: relay.fingerprint, host: $0.lowercased(), port: relay.port)
            }
        }
    }

    var configured: Set<Place>
    var approved: Set<Place>
    var policy: RelayApprovalPolicy

    /// Refuses relays that may not be contacted. `approvedNow` is the user's word for this one file;
    /// it does not open this machine's own network, for which a relay must be configured or approved
    /// by name.
    func check(_ relays: [RelayAddress], approvedNow: Bool) throws(ChatError) {
        let unknown = relays.filter { relay in
            !Place.all(of: relay).allSatisfy { configured.contains($0) || approved.contains($0) }
        }
        guard !unknown.isEmpty else { return }
        let list = Self.list(unknown)
        let inward = unknown.filter(\.leadsIntoOwnNetwork)
        guard inward.isEmpty else {
            throw ChatError(
                .file(.notApproved),
                "The file is on a relay inside this machine's own network, which is not contacted "
                    + "unless you allow it: chatfs approve \(Self.list(inward))")
        }
        guard policy == .always || policy == .ask && approvedNow else {
            throw ChatError(
                .file(.notApproved),
                "The file is on relays that would see your network address. To allow them: "
                    + "chatfs approve \(list)")
        }
    }

    /// All that official programs preset; a sender may name hundreds.
    private static let mostNamed = 12

    private static func list(_ relays: [RelayAddress]) -> String {
        let named = relays.prefix(mostNamed).map(\.text).joined(separator: " ")
        return relays.count > mostNamed ? named + " (and \(relays.count - mostNamed) more)" : named
    }
}

/// The relays that may be in this machine's own network, as the rules were when last read.
final class RelayTrust: Sendable {
    private let places = Lock<Set<RelayRules.Place>>([])

    func follow(_ rules: RelayRules) {
        places.withLock { $0 = rules.configured.union(rules.approved) }
    }

    @Sendable func holds(_ relay: RelayAddress) -> Bool {
        places.withLock { places in RelayRules.Place.all(of: relay).allSatisfy(places.contains) }
    }
}

extension DataDirectory {
    /// Adds relays to a profile. One that is there keeps its place; a password given now replaces the
    /// one that was kept. Blocks.
    func keepRelays(_ relays: [RelayWithPassword], of profile: Profile) throws {
        guard !relays.isEmpty else { return }
        try database.transaction { connection in
            for relay in relays {
                try connection.execute(
                    """
                    INSERT INTO relay (profile, address, password) VALUES (?, ?, ?)
                    ON CONFLICT (profile, address)
                    DO UPDATE SET password = coalesce(excluded.password, password)
                    """, profile.id, relay.address, relay.password)
            }
        }
    }

    /// The relays of a profile in the order in which they were given. Blocks.
    func relays(of profile: Profile) throws -> [RelayWithPassword] {
        try database.read { try relays(of: profile, $0) }
    }

    func relays(of profile: Profile, _ connection: Connection) throws -> [RelayWithPassword] {
        try connection.query(
            "SELECT address, password FROM relay WHERE profile = ? ORDER BY id", profile.id
        ) { RelayWithPassword(address: $0.text(0), password: $0.textOrNil(1)) }
    }

    func relayRules(of profile: Profile, _ connection: Connection) throws -> RelayRules {
        let configured = try relays(of: profile, connection).compactMap { RelayAddress($0.address) }
        let approved = try connection.query(
            "SELECT fingerprint, host, port FROM approval WHERE profile = ?", profile.id
        ) { row in
            RelayRules.Place(
                fingerprint: row.bytes(0), host: row.text(1),
                port: UInt16(clamping: row.integer(2)))
        }
        let policy = try connection.first(
            "SELECT relay_policy FROM profile WHERE id = ?", profile.id
        ) { $0.text(0) }
        return RelayRules(
            configured: Set(configured.flatMap(RelayRules.Place.all)), approved: Set(approved),
            policy: policy.flatMap(RelayApprovalPolicy.init) ?? .ask)
    }
}
