import Base
import ChatCore
import SMP

/// Reports messaging servers inside this machine's own network that other people named. They need the user's
/// approval. Each is reported once while the profile is open, and stored for `chatfs approve --list`.
final class RefusedServers: Sendable {
    private let store: ProfileStore
    private let told = Lock<Set<ServerAddress>>([])
    /// Bounds the reports; other people may name any number.
    private static let maxTold = 32

    init(_ store: ProfileStore) { self.store = store }

    /// Reports a server. Returns at once.
    func note(_ server: ServerAddress) {
        let isNew = told.withLock { $0.count < Self.maxTold && $0.insert(server).inserted }
        guard isNew else { return }
        log.notice("server in own network refused: server=\(server.text)")
        Task { [store] in
            await blocking.attempt("store a refused server") {
                try store.commit { try $0.tables.network.refusedServers.insert(server, at: $0.time) }
                store.events.tell(.serverRefused(server.text))
            }
        }
    }

    /// Allows servers to be reported again.
    func forget() { told.withLock { $0 = [] } }
}
