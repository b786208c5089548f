import Base
import ChatCore
import SMP

/// Tells of messaging servers inside this machine's own network that others named, and that were not connected to: the
/// user may allow them. Each is told once while the profile is open, and is in the store for `chatfs approve --list`.
final class RefusedServers: Sendable {
    private let store: ProfileStore
    private let told = Lock<Set<ServerAddress>>([])
    /// Others may name any number.
    private static let maxTold = 32

    init(_ store: ProfileStore) { self.store = store }

    /// Returns at once.
    func note(_ server: ServerAddress) {
        let isNew = told.withLock { $0.count < Self.maxTold && $0.insert(server).inserted }
        guard isNew else { return }
        log.notice("a messaging server inside the own network was not connected to: \(server.text)")
        Task { [store] in
            await blocking.attempt("note a server that was not connected to") {
                try store.commit { try $0.tables.network.refusedServers.insert(server, at: $0.time) }
                store.events.tell(.serverRefused(server.text))
            }
        }
    }

    /// From now on each may be told again.
    func forget() { told.withLock { $0 = [] } }
}
