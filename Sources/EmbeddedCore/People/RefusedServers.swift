import Base
import ChatCore
import SMP

/// Reports messaging servers inside this machine's own network that other people named. They need the user's
/// approval. Each is reported once while the profile is open, or hourly if many are refused, and stored for
/// `chatfs approve --list`.
final class RefusedServers: Sendable {
    private let store: ProfileStore
    /// The last reports, in their order.
    private let told = Lock<[(server: ServerAddress, time: Timestamp)]>([])
    /// Bounds the reports of an interval; other people may name any number.
    private static let maxTold = 32
    private static let interval = Duration.seconds(3600)

    init(_ store: ProfileStore) { self.store = store }

    /// Reports a server. Returns at once.
    func note(_ server: ServerAddress) {
        guard isDue(server, at: store.clock.now()) else { return }
        log.notice("server in own network refused: server=\(server.text)")
        Task { [store] in
            await blocking.attempt("store a refused server") {
                try store.commit { try $0.tables.network.refusedServers.insert(server, at: $0.time) }
                store.events.tell(.serverRefused(server.text))
            }
        }
    }

    /// Returns whether to report a server now, and counts that as a report.
    private func isDue(_ server: ServerAddress, at now: Timestamp) -> Bool {
        told.withLock { told in
            guard !told.contains(where: { $0.server == server }) else { return false }
            if let oldest = told.first, told.count >= Self.maxTold {
                // The clock may have been set back.
                let isRecent = (oldest.time..<oldest.time.advanced(by: Self.interval)).contains(now)
                guard !isRecent else { return false }
                told.removeFirst()
            }
            told.append((server, now))
            return true
        }
    }

    /// Allows servers to be reported again.
    func forget() { told.withLock { $0 = [] } }
}
