import Base

/// The relays of a client and their connections. A relay without users, connections and recent failures is removed
/// after the idle time.
final class RelayTable: Sendable {
    private struct Entry {
        let connections: RelayConnections
        /// The number of current users.
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

    /// The number of known relays.
    var count: Int { state.withLock { $0.entries.count } }

    /// Runs `body` with the connections to a relay, which stays in the table meanwhile.
    func with<Result: Sendable>(
        _ relay: RelayAddress, _ body: (RelayConnections) async throws(XFTPError) -> Result
    ) async throws(XFTPError) -> Result {
        let connections = enter(relay)
        defer { leave(relay, connections) }
        return try await body(connections)
    }

    /// Runs a synchronous `body` with the connections to a relay.
    func with<Result>(_ relay: RelayAddress, _ body: (RelayConnections) -> Result) -> Result {
        let connections = enter(relay)
        defer { leave(relay, connections) }
        return body(connections)
    }

    /// Returns whether a relay failed recently.
    func isAvoided(_ relay: RelayAddress) -> Bool {
        let connections = state.withLock { $0.entries[relay.withoutPassword]?.connections }
        return connections?.health.isAvoided ?? false
    }

    /// Closes all connections and removes all relays.
    func close() {
        let all = state.withLock { state in
            defer { state.entries = [:] }
            return state.entries.values.map(\.connections)
        }
        for connections in all { connections.close() }
    }

    /// Closes all connections and keeps the state of the relays.
    func disconnect() {
        let all = state.withLock { $0.entries.values.map(\.connections) }
        for connections in all { connections.disconnect() }
    }

    /// Ignores the password, which only FNEW uses.
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
            // After `close()` the entry may be another one.
            guard state.entries[relay]?.connections === connections else { return false }
            state.entries[relay]?.users -= 1
            state.entries[relay]?.lastUse = .now
            defer { state.isSweeping = true }
            return !state.isSweeping
        }
        guard startsSweeping else { return }
        // Weak, so that a released client closes its connections.
        Task { [weak self, idleTime = settings.idleTime] in
            repeat { try? await Task.sleep(for: idleTime) } while self?.sweep() ?? false
        }
    }

    /// Removes unused relays. Returns whether relays remain.
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
