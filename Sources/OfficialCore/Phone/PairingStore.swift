import Base
import ChatCore
import Cryptography
import Network
import Posix
import RemoteControl
import Store

/// The stored pairing with one phone: its keys, name and profile, in the folder of the phone's core. All
/// calls block.
public final class PairingStore: Sendable {
    /// File in the folder of the phone's core, sealed with the key of the data directory.
    public static let file = "pairing.sqlite"

    /// A phone as shown to users.
    public struct Description: Hashable, Sendable {
        /// The name given by the user here.
        public var name: String
        /// The phone's own name; nil before its first session.
        public var device: String?
        /// Time of the last session.
        public var seen: Timestamp?
        /// The profile of the chats; nil before they were read.
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

    /// Opens the store of a phone, or creates one with new keys.
    /// - Parameters:
    ///   - folder: The existing folder of the phone's core.
    ///   - key: Key of the data directory; nil if not encrypted.
    ///   - name: Name for a new phone.
    /// - Throws: `StoreError`; `NetworkError` if no keys can be created.
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

    /// - Throws: `StoreError`; errors of invalid keys.
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

    /// Stores the session's keys durably, before the reply to the phone, because both sides need them.
    func remember(_ phone: Pairing.Phone) throws {
        try database.durableTransaction { connection in
            try connection.execute(
                "UPDATE pairing SET phone = ?, agreement = ?, device = ?, seen = ?", phone.authority,
                phone.agreementKey, phone.deviceName, SystemWallClock().now())
        }
    }

    /// The port of the last link, which a firewall may allow; nil before the first.
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

    /// Stores the profile of the chats.
    public func note(_ profile: Profile) throws {
        try database.durableTransaction { connection in
            try connection.execute(
                "UPDATE pairing SET profile = ?, profile_name = ?", profile.id, profile.displayName)
        }
    }

    public func rename(to name: String) throws {
        _ = try database.durableTransaction { try $0.execute("UPDATE pairing SET name = ?", name) }
    }

    /// Closes the store before its folder is removed or moved. Do not use it afterwards.
    public func close() { database.close() }

    private static let damaged = StoreError(.damaged, "The stored pairing of the phone could not be read.")
}
