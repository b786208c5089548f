import Base
import ChatCore
import Network
import SMP
import SMPClient
import XFTP

/// Whether the relays of a received file may be contacted, and the relays that may be in this machine's own network.
final class RelayApprovals: Sendable {
    private let store: ProfileStore
    private let trust: ServerTrust

    init(_ store: ProfileStore, _ trust: ServerTrust) {
        self.store = store
        self.trust = trust
    }

    /// The description of a received file, nil while there is none. Blocks; not inside a transaction.
    func description(of file: FileID) throws -> ReceivedDescription? {
        guard let described = try store.read({ try $0.downloads.description(of: file) }) else { return nil }
        assert(!store.isInTransaction, "a description is parsed while everybody else waits")
        return ReceivedDescription(parsing: described.text, size: described.size)
    }

    /// Refuses a description that makes no sense or whose relays may not be contacted.
    /// - Parameter approvedNow: the user approved them for this one file.
    func check(
        _ description: ReceivedDescription, approvedNow: Bool, _ tables: ProfileTables
    ) throws {
        try follow(tables).check(description.relays(), approvedNow: approvedNow)
    }

    /// The rules as they are now; the connections to relays follow them too.
    @discardableResult
    func follow(_ tables: ProfileTables) throws -> RelayRules {
        let rules = try tables.relays.rules(of: store.profile.id)
        let servers = try tables.directory.messagingServers.configured(of: store.profile.id)
            .compactMap { ServerAddress($0) }.flatMap(\.places)
        trust.follow(rules, servers: try servers + tables.relays.approved(.messages, of: store.profile.id))
        return rules
    }

    /// Reads what holds now. Blocks.
    func look() {
        // What cannot be read permits nothing new.
        _ = try? store.read { try follow($0) }
    }
}

/// The servers that the user chose, for messages or for files, as it was when last read: they may be in this machine's own
/// network.
final class ServerTrust: Sendable {
    private let places = Lock<Set<ServerPlace>>([])
    private let source = Lock(Source())

    private struct Source {
        var look: @Sendable () -> Void = {}
    }

    /// - Parameter servers: for messages.
    func follow(_ rules: RelayRules, servers: [ServerPlace]) {
        places.withLock { $0 = rules.configured.union(rules.approved).union(servers) }
    }

    @Sendable func holds(_ place: ServerPlace) -> Bool { places.withLock { $0.contains(place) } }

    /// - Parameter look: has this follow what is stored.
    func begin(_ look: @escaping @Sendable () -> Void) { source.withLock { $0.look = look } }

    /// Reads it again. Blocks.
    @Sendable func look() { source.withLock { $0.look }() }
}
