import Base

/// The relays that a client talks to, each with its connections. One that nobody has used for the idle
/// time, and to which no connection is left, is forgotten together with what was learned about it; a
/// failure is remembered for its own time.
final class RelayTable: Sendable {
    private struct Entry {
        let connections: RelayConnections
        /// Those who are using it right now.
        var users = 0
        var lastUse = ContinuousClock.now
    }

    private struct State {
        var entries: [RelayAddress: Entry] = [:]
        var isSweeping = false
    }

    private let settings: XFTPClientSettings
    private let state = Lock(State(), rank: .registry)

    init(settings: XFTPClientSettings) { self.settings = settings }

    /// Relays that are known at present.
    var count: Int { state.withLock { $0.entries.count } }

    /// Runs `body` with the connections to a relay, which stays in the table meanwhile.
    func with<Result: Sendable>(
        _ relay: RelayAddress, _ body: (RelayConnections) async throws(XFTPError) -> Result
    ) async throws(XFTPError) -> Result {
        let connections = enter(relay)
        defer { leave(relay, connections) }
        return try await body(connections)
    }

    /// For what does not wait.
    func with<Result>(_ relay: RelayAddress, _ body: (RelayConnections) -> Result) -> Result {
        let connections = enter(relay)
        defer { leave(relay, connections) }
        return body(connections)
    }

    /// Whether a relay failed a moment ago.
    func isAvoided(_ relay: RelayAddress) -> Bool {
        let connections = state.withLock { $0.entries[relay.withoutPassword]?.connections }
        return connections?.health.isAvoided ?? false
    }

    /// Closes all connections and forgets all relays.
    func close() {
        let all = state.withLock { state in
            defer { state.entries = [:] }
            return state.entries.values.map(\.connections)
        }
        for connections in all { connections.close() }
    }

    /// Closes all connections; what was learned about relays is kept.
    func disconnect() {
        let all = state.withLock { $0.entries.values.map(\.connections) }
        for connections in all { connections.disconnect() }
    }

    /// The password serves for one command only; connections are the same with it and without.
    private func enter(_ relay: RelayAddress) -> RelayConnections {
        let relay = relay.withoutPassword
        return state.withLock { state in
            let entry =
                state.entries[relay]
                ?? Entry(connections: RelayConnections(relay: relay, settings: settings))
            state.entries[relay] = entry
            state.entries[relay]?.users += 1
            return entry.connections
        }
    }

    private func leave(_ relay: RelayAddress, _ connections: RelayConnections) {
        let relay = relay.withoutPassword
        let startsSweeping = state.withLock { state in
            // Closed meanwhile, it may be another one.
            guard state.entries[relay]?.connections === connections else { return false }
            state.entries[relay]?.users -= 1
            state.entries[relay]?.lastUse = .now
            defer { state.isSweeping = true }
            return !state.isSweeping
        }
        guard startsSweeping else { return }
        // Weak, so that a client that is dropped takes its connections with it.
        Task { [weak self, idleTime = settings.idleTime] in
            repeat { try? await Task.sleep(for: idleTime) } while self?.sweep() ?? false
        }
    }

    /// Forgets what was not used for a while; true when there is more to watch.
    private func sweep() -> Bool {
        state.withLock { state in
            let limit = ContinuousClock.now - settings.idleTime
            state.entries = state.entries.filter {
                let connections = $0.value.connections
                return $0.value.users > 0 || $0.value.lastUse > limit || !connections.isEmpty
                    || connections.health.isAvoided
            }
            state.isSweeping = !state.entries.isEmpty
            return state.isSweeping
        }
    }
}
