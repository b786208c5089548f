import Base
import ChatCore
import Cryptography
import Network
import Posix
import RemoteControl
import Store

/// What is kept about one phone in the folder of its core: the keys of the pairing, and what it said of itself. All
/// calls block.
public final class PairingStore: Sendable {
    /// In the folder of the phone's core. Sealed with the key of the data directory.
    public static let file = "pairing.sqlite"

    /// What users see of a phone.
    public struct Description: Hashable, Sendable {
        /// As its user calls it here.
        public var name: String
        /// As it calls itself; nil before its first session.
        public var device: String?
        /// Its last session.
        public var seen: Timestamp?
        /// Whose chats they are; nil before they were read.
        public var profile: Profile?
    }

    private static let migrations = [
        Migration(
            "pairing",
            """
            CREATE TABLE pairing (
                only INTEGER PRIMARY KEY CHECK (only = 1), name TEXT NOT NULL, certificate BLOB NOT NULL,
                authority BLOB NOT NULL, identity BLOB NOT NULL, phone BLOB, agreement BLOB, device TEXT,
                seen INTEGER, profile INTEGER, profile_name TEXT, port INTEGER
            ) STRICT;
            """)
    ]

    private let database: Database

    /// Opens the store of a phone, or makes one with fresh keys.
    /// - Parameters:
    ///   - folder: of the phone's core, which exists.
    ///   - key: that of the data directory; nil: it is not encrypted.
    ///   - name: of a phone that is new.
    /// - Throws: `StoreError`; `NetworkError` where no keys can be made.
    public init(folder: String, key: SecretBytes?, name: String) throws {
        database = try Database(path: "\(folder)/\(Self.file)", migrations: Self.migrations, key: key)
        let fresh = try Pairing.make()
        try database.durableTransaction { connection in
            try connection.execute(
                "INSERT OR IGNORE INTO pairing (only, name, certificate, authority, identity) VALUES (1, ?, ?, ?, ?)",
                name, fresh.authority.certificate, fresh.authority.seed, fresh.identity.seed)
        }
    }

    public func description() throws -> Description {
        let found = try database.read { connection in
            try connection.first("SELECT name, device, seen, profile, profile_name FROM pairing") { row in
                let profile = row.text("profile_name")
                return Description(
                    name: row.text("name"), device: row.textOrNil("device"), seen: row.timestampOrNil("seen"),
                    profile: row.integerOrNil("profile").map { Profile(id: $0, displayName: profile) })
            }
        }
        guard let found else { throw Self.damaged }
        return found
    }

    /// - Throws: `StoreError`; what the keys are refused with.
    func pairing() throws -> Pairing {
        let found = try database.read { connection in
            try connection.first(
                "SELECT certificate, authority, identity, phone, agreement, device FROM pairing"
            ) { row in
                (
                    row.bytes("certificate"), row.bytes("authority"), row.bytes("identity"),
                    row.bytesOrNil("phone"), row.bytesOrNil("agreement"), row.text("device")
                )
            }
        }
        guard let (certificate, authority, identity, phone, agreement, device) = found else {
            throw Self.damaged
        }
        var pairing = Pairing(
            authority: try CertificateAuthority(certificate: certificate, seed: authority),
            identity: try SigningKey(seed: identity))
        if let phone, let agreement {
            pairing.phone = Pairing.Phone(authority: phone, agreementKey: agreement, deviceName: device)
        }
        return pairing
    }

    /// Durably, before the phone is answered: both sides need the keys of the last session.
    func remember(_ phone: Pairing.Phone) throws {
        try database.durableTransaction { connection in
            try connection.execute(
                "UPDATE pairing SET phone = ?, agreement = ?, device = ?, seen = ?", phone.authority,
                phone.agreementKey, phone.deviceName, SystemWallClock().now())
        }
    }

    /// The port of the last link, which a firewall may have been told; nil before the first.
    func port() throws -> UInt16? {
        try database.read { connection in
            try connection.first("SELECT port FROM pairing") { row in
                row.integerOrNil("port").flatMap { UInt16(exactly: $0) }
            } ?? nil
        }
    }

    func note(port: UInt16) throws {
        _ = try database.transaction { try $0.execute("UPDATE pairing SET port = ?", Int64(port)) }
    }

    /// Whose chats they are.
    public func note(_ profile: Profile) throws {
        try database.durableTransaction { connection in
            try connection.execute(
                "UPDATE pairing SET profile = ?, profile_name = ?", profile.id, profile.displayName)
        }
    }

    public func rename(to name: String) throws {
        _ = try database.durableTransaction { try $0.execute("UPDATE pairing SET name = ?", name) }
    }

    /// For who removes or moves its folder. Nothing else may be called afterwards.
    public func close() { database.close() }

    private static let damaged = StoreError(.damaged, "What is kept about a phone could not be read.")
}
