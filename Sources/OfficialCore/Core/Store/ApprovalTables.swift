import Base
import ChatCore
import Store
import XFTP

/// Users' decisions about relays, in a database of its own (`OfficialRelayTrust`).
struct ApprovalTables {
    static let migrations = [
        Migration(
            "approvals",
            """
            CREATE TABLE approval (relay TEXT PRIMARY KEY) STRICT;
            CREATE TABLE policy (word TEXT NOT NULL) STRICT;
            """)
    ]

    let connection: Connection

    func approve(_ relay: RelayAddress) throws {
        try connection.execute("INSERT OR IGNORE INTO approval (relay) VALUES (?)", relay.text)
    }

    /// Returns true if the relay was approved.
    func revoke(_ relay: RelayAddress) throws -> Bool {
        try connection.execute("DELETE FROM approval WHERE relay = ?", relay.text) > 0
    }

    /// Ignores invalid addresses.
    func approved() throws -> [RelayAddress] {
        try connection.query("SELECT relay FROM approval ORDER BY relay") { RelayAddress($0.text("relay")) }
            .compactMap { $0 }
    }

    func policy() throws -> RelayApprovalPolicy? {
        try connection.first("SELECT word FROM policy") { try $0.value("word") }
    }

    func setPolicy(_ policy: RelayApprovalPolicy) throws {
        try connection.execute("DELETE FROM policy")
        try connection.execute("INSERT INTO policy (word) VALUES (?)", policy.rawValue)
    }
}
