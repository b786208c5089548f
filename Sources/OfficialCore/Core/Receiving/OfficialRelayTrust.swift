import Base
import ChatCore
import Cryptography
import Network
import Store
import XFTP

/// Which relays may be contacted for a core's profiles beyond those that it decides about itself: what
/// `chatfs approve` was told. In a database of its own, which the command opens beside a running mount.
public final class OfficialRelayTrust: Sendable {
    private let database: Database
    private let configured = Lock<Set<ServerPlace>>([])

    /// Blocks.
    /// - Parameters:
    ///   - folder: the core's, where the approvals lie.
    ///   - key: with which they are encrypted; nil: not.
    /// - Throws: as `Database`.
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
            for relay in relays { try ApprovalTables(connection).approve(relay) }
        }
    }

    /// Takes approvals back. Blocks.
    /// - Returns: those of `relays` that were approved.
    /// - Throws: `StoreError`.
    public func revoke(_ relays: [RelayAddress]) throws -> [RelayAddress] {
        try database.transaction { connection in
            try relays.filter { try ApprovalTables(connection).revoke($0) }
        }
    }

    /// Blocks.
    /// - Throws: `StoreError`.
    public func approved() throws -> [RelayAddress] {
        try database.read { try ApprovalTables($0).approved() }
    }

    /// What is kept for mounts that are not told otherwise. Blocks.
    /// - Throws: `StoreError`; `.damaged` for a word that is none.
    public func policy() throws -> OfficialCoreSettings.UnknownRelays? {
        try database.read { try ApprovalTables($0).policy() }
    }

    /// Blocks.
    /// - Throws: `StoreError`.
    public func setPolicy(_ policy: OfficialCoreSettings.UnknownRelays) throws {
        try database.transaction { try ApprovalTables($0).setPolicy(policy) }
    }

    /// Whether a relay was configured in the core or approved here; then it may also be inside this
    /// machine's own network. Blocks shortly.
    @Sendable public func holds(_ relay: RelayAddress) -> Bool { relay.places.allSatisfy(holds) }

    /// The same of one of its places.
    @Sendable public func holds(_ place: ServerPlace) -> Bool {
        if configured.withLock({ $0.contains(place) }) { return true }
        // What cannot be read permits nothing.
        return ((try? approved()) ?? []).contains { $0.places.contains(place) }
    }

    /// Whether all of these, as the core names them, were approved here. Blocks shortly.
    func approves(_ relays: [String]) -> Bool {
        guard !relays.isEmpty, let approved = try? approved() else { return false }
        let endpoints = Set(approved.flatMap(\.places))
        return relays.allSatisfy { text in
            RelayAddress(text).map { $0.places.allSatisfy(endpoints.contains) } ?? false
        }
    }
}
