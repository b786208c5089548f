import Base
import SMP

/// A messaging server that is currently unreachable.
public struct ServerOutage: Sendable, Hashable {
    public let server: ServerAddress
    /// The wall-clock time of the first failed attempt since the last connection.
    public let since: Timestamp
    /// The reason of the last failure, a sentence.
    public let problem: String
}

/// The unreachable servers, from the first failed attempt to the next connection. Safe to use from any thread.
final class ServerOutages: Sendable {
    private struct Outage {
        var since: Timestamp
        var problem: String
        var lastTry: ContinuousClock.Instant
    }

    private let state = Lock([ServerAddress: Outage]())
    private let clock: any WallClock

    /// The time without requests after which a server is left out.
    private static let memory = Duration.seconds(3600)

    init(clock: any WallClock = SystemWallClock()) { self.clock = clock }

    func failed(_ server: ServerAddress, _ problem: String) {
        let now = clock.now()
        state.withLock { state in
            let since = state[server]?.since ?? now
            state[server] = Outage(since: since, problem: problem, lastTry: .now)
        }
    }

    func connected(_ server: ServerAddress) { state.withLock { $0[server] = nil } }

    /// The unreachable servers by name.
    var current: [ServerOutage] {
        let limit = ContinuousClock.now - Self.memory
        let outages = state.withLock { state in
            state = state.filter { $0.value.lastTry > limit }
            return state
        }
        return outages.map { ServerOutage(server: $0, since: $1.since, problem: $1.problem) }
            .sorted { ($0.since, $0.server.text) < ($1.since, $1.server.text) }
    }
}
