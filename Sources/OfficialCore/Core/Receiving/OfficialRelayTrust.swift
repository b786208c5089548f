import Base
import ChatCore
import Cryptography
import Network
import Store
import XFTP

/// Relays approved by `chatfs approve`, in addition to those that the core accepts. Stored in a database of
/// its own, which the command opens during a mount.
public final class OfficialRelayTrust: Sendable {
    private let database: Database
    private let configured = Lock<Set<ServerPlace>>([])

    /// Blocks.
    /// - Parameters:
    ///   - folder: The core's folder, which holds the approvals.
    ///   - key: Encryption key; nil if not encrypted.
    /// - Throws: Errors of `Database`.
    public init(folder: String, key: SecretBytes? = nil) throws(StoreError) {
        database = try Database(
            path: folder + "/approvals.sqlite", migrations: ApprovalTables.migrations, key: key)
    }

    func follow(configured relays: [String]) {
        let endpoints = Set(relays.compactMap { RelayAddress($0) }.flatMap(\.places))
        configured.withLock { $0 = endpoints }
    }

    /// Blocks.
    /// - Throws: `StoreError`.
    public func approve(_ relays: [RelayAddress]) throws {
        try database.transaction { connection in
            for relay in relays { try ApprovalTables(connection: connection).approve(relay) }
        }
    }

    /// Revokes approvals. Blocks.
    /// - Returns: The relays that were approved.
    /// - Throws: `StoreError`.
    public func revoke(_ relays: [RelayAddress]) throws -> [RelayAddress] {
        try database.transaction { connection in
            try relays.filter { try ApprovalTables(connection: connection).revoke($0) }
        }
    }

    /// Blocks.
    /// - Throws: `StoreError`.
    public func approved() throws -> [RelayAddress] {
        try database.read { try ApprovalTables(connection: $0).approved() }
    }

    /// The stored policy for mounts without their own. Blocks.
    /// - Throws: `StoreError`; `.damaged` for an invalid value.
    public func policy() throws -> RelayApprovalPolicy? {
        try database.read { try ApprovalTables(connection: $0).policy() }
    }

    /// Blocks.
    /// - Throws: `StoreError`.
    public func setPolicy(_ policy: RelayApprovalPolicy) throws {
        try database.transaction { try ApprovalTables(connection: $0).setPolicy(policy) }
    }

    /// Returns true if a relay is configured in the core or approved here. It may then be in the local
    /// network too. Blocks briefly.
    @Sendable public func holds(_ relay: RelayAddress) -> Bool { relay.places.allSatisfy(holds) }

    /// Like `holds(_:)`, for one address of a relay.
    @Sendable public func holds(_ place: ServerPlace) -> Bool {
        if configured.withLock({ $0.contains(place) }) { return true }
        // Unreadable approvals permit nothing.
        return ((try? approved()) ?? []).contains { $0.places.contains(place) }
    }

    /// Returns true if all of these relays, in the core's notation, were approved here. Blocks briefly.
    func approves(_ relays: [String]) -> Bool {
        guard !relays.isEmpty, let approved = try? approved() else { return false }
        let endpoints = Set(approved.flatMap(\.places))
        return relays.allSatisfy { text in
            RelayAddress(text).map { $0.places.allSatisfy(endpoints.contains) } ?? false
        }
    }
}
