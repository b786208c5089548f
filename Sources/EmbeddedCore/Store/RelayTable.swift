import ChatCore
import Network
import Store
import XFTP

/// A profile's upload relays, and its approvals of other people's relays and servers.
struct RelayTable {
    let connection: Connection

    // MARK: - Configured

    /// Adds relays. A known one keeps its position and takes a new password, if given.
    func add(_ relays: [RelayWithPassword], to profile: Int64) throws {
        for relay in relays {
            try connection.execute(
                """
                INSERT INTO relay (profile, address, password) VALUES (?, ?, ?)
                ON CONFLICT (profile, address)
                DO UPDATE SET password = coalesce(excluded.password, password)
                """, profile, relay.address, relay.password)
        }
    }

    /// Returns false if there is no such relay.
    func remove(_ address: String, from profile: Int64) throws -> Bool {
        try connection.execute(
            "DELETE FROM relay WHERE profile = ? AND address = ?", profile, address) > 0
    }

    /// Returns relays in order of insertion.
    func configured(of profile: Int64) throws -> [RelayWithPassword] {
        try connection.query(
            "SELECT address, password FROM relay WHERE profile = ? ORDER BY id", profile
        ) { RelayWithPassword(address: $0.text("address"), password: $0.textOrNil("password")) }
    }

    // MARK: - Approved

    /// The use of an approved address. The raw values are stored.
    enum Purpose: String, SQLBindable, CaseIterable {
        case files = "xftp"
        case messages = "smp"
    }

    func approve(_ endpoint: ServerPlace, _ purpose: Purpose = .files, for profile: Int64) throws {
        try connection.execute(
            """
            INSERT OR IGNORE INTO approval (profile, fingerprint, host, port, protocol) VALUES (?, ?, ?, ?, ?)
            """, profile, endpoint.fingerprint, endpoint.host, Int(endpoint.port), purpose)
    }

    /// Returns addresses approved for a purpose.
    func approved(_ purpose: Purpose, of profile: Int64) throws -> [ServerPlace] {
        try connection.query(
            "SELECT fingerprint, host, port FROM approval WHERE profile = ? AND protocol = ?", profile,
            purpose,
            row: place)
    }

    private func place(_ row: borrowing Row) -> ServerPlace {
        ServerPlace(
            fingerprint: row.bytes("fingerprint"), host: row.text("host"),
            port: UInt16(clamping: row.integer("port")))
    }

    /// Returns false if it was not approved.
    func revoke(_ endpoint: ServerPlace, of profile: Int64) throws -> Bool {
        try connection.execute(
            "DELETE FROM approval WHERE profile = ? AND fingerprint = ? AND host = ? AND port = ?",
            profile, endpoint.fingerprint, endpoint.host, Int(endpoint.port)) > 0
    }

    func setPolicy(_ policy: RelayApprovalPolicy, of profile: Int64) throws {
        try connection.execute("UPDATE profile SET relay_policy = ? WHERE id = ?", policy.rawValue, profile)
    }

    /// Returns the rules for received files.
    func rules(of profile: Int64) throws -> RelayRules {
        let approved = try approved(.files, of: profile)
        let policy = try connection.first("SELECT relay_policy FROM profile WHERE id = ?", profile) {
            try $0.value("relay_policy", as: RelayApprovalPolicy.self)
        }
        let configured = try configured(of: profile).compactMap { RelayAddress($0.address) }
        return RelayRules(
            configured: Set(configured.flatMap(\.places)), approved: Set(approved),
            policy: policy ?? .ask)
    }
}
