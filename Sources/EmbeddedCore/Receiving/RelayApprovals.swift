import Base
import ChatCore
import XFTP

/// Whether the relays of a received file may be contacted, and the relays that may be in this machine's own network.
final class RelayApprovals: Sendable {
    private let store: ProfileStore
    private let trust: RelayTrust

    init(_ store: ProfileStore, _ trust: RelayTrust) {
        self.store = store
        self.trust = trust
    }

    /// The description of a received file, nil while there is none. Blocks; not inside a transaction.
    func description(of file: FileID) throws -> ReceivedDescription? {
        guard let text = try store.read({ try $0.downloads.description(of: file) }) else { return nil }
        assert(!store.isInTransaction, "a description is parsed while everybody else waits")
        return ReceivedDescription(parsing: text)
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
        trust.follow(rules)
        return rules
    }
}

/// The relays that may be in this machine's own network, as the rules were when last read.
final class RelayTrust: Sendable {
    private let endpoints = Lock<Set<RelayEndpoint>>([])

    func follow(_ rules: RelayRules) {
        endpoints.withLock { $0 = rules.configured.union(rules.approved) }
    }

    @Sendable func holds(_ relay: RelayAddress) -> Bool {
        endpoints.withLock { endpoints in RelayEndpoint.all(of: relay).allSatisfy(endpoints.contains) }
    }
}
