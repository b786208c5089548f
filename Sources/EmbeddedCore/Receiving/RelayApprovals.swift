import Base
import ChatCore
import Network
import SMP
import SMPClient
import XFTP

/// Permissions to contact relays of received files and relays inside this machine's own network.
final class RelayApprovals: Sendable {
    private let store: ProfileStore
    private let trust: ServerTrust

    init(_ store: ProfileStore, _ trust: ServerTrust) {
        self.store = store
        self.trust = trust
    }

    /// Returns a received file's description; nil without one. Blocks; not inside a transaction.
    func description(of file: FileID) throws -> ReceivedDescription? {
        guard let described = try store.read({ try $0.downloads.description(of: file) }) else { return nil }
        assert(!store.isInTransaction, "a description is parsed inside a transaction")
        return ReceivedDescription(parsing: described.text, size: described.size)
    }

    /// Returns the addresses of a received file's relays; empty without a valid description. Blocks.
    func addresses(of file: FileID) throws -> [String] {
        guard let description = try description(of: file) else { return [] }
        return try description.relays().map(\.text)
    }

    /// Throws if the description is invalid or its relays may not be contacted.
    /// - Parameter approvedNow: whether the user approved the relays for this file.
    func check(
        _ description: ReceivedDescription, approvedNow: Bool, _ tables: ProfileTables
    ) throws {
        try follow(tables).check(description.relays(), approvedNow: approvedNow)
    }

    /// Returns the current rules and applies them to relay connections.
    @discardableResult
    func follow(_ tables: ProfileTables) throws -> RelayRules {
        let rules = try tables.relays.rules(of: store.profile.id)
        let servers = try tables.directory.messagingServers.configured(of: store.profile.id)
            .compactMap { ServerAddress($0) }.flatMap(\.places)
        trust.follow(rules, servers: try servers + tables.relays.approved(.messages, of: store.profile.id))
        return rules
    }

    /// Reloads the rules. Blocks.
    func look() {
        // A failed read permits nothing new.
        _ = try? store.read { try follow($0) }
    }
}

/// Cached addresses of servers chosen by the user, for messages and files. These may be inside this machine's
/// own network.
final class ServerTrust: Sendable {
    private struct State {
        var places: Set<ServerPlace> = []
        var look: @Sendable () -> Void = {}
    }

    private let state = Lock(State())

    /// - Parameter servers: messaging servers.
    func follow(_ rules: RelayRules, servers: [ServerPlace]) {
        let places = rules.configured.union(rules.approved).union(servers)
        state.withLock { $0.places = places }
    }

    @Sendable func holds(_ place: ServerPlace) -> Bool { state.withLock { $0.places.contains(place) } }

    /// - Parameter look: reloads the addresses through `follow`.
    func begin(_ look: @escaping @Sendable () -> Void) { state.withLock { $0.look = look } }

    /// Reloads the addresses. Blocks.
    @Sendable func look() { state.withLock { $0.look }() }
}
