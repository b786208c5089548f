import Base

/// The connections to one relay: opened on demand up to the limit of the settings, each with few concurrent requests,
/// closed when idle.
final class RelayConnections: Sendable {
    private struct Slot {
        let id: Int
        /// nil while the connection is being opened.
        var connection: RelayConnection?
        var requests = 1
        var lastUse = ContinuousClock.now
    }

    private struct State {
        var slots: [Slot] = []
        var nextID = 0
        var isReaping = false
        var isClosed = false
        /// The number of concurrent requests currently allowed.
        var allowed: Int
        /// Whether `allowed` already includes the additional requests of a far relay.
        var isWidened = false
        /// Successful transfers since `allowed` changed.
        var successes = 0
        /// Tasks that wait until a connection was opened or failed to open. Any change wakes all of them to check
        /// again.
        var waiting: [AsyncSemaphore] = []

        mutating func takeWaiting() -> [AsyncSemaphore] {
            defer { waiting = [] }
            return waiting
        }
    }

    private enum Choice {
        case use(Int, RelayConnection)
        case open(Int)
        case wait(AsyncSemaphore)
    }

    private let relay: RelayAddress
    private let settings: XFTPClientSettings
    private let permits: AsyncSemaphore
    private let state: Lock<State>
    let health: RelayHealth

    init(relay: RelayAddress, settings: XFTPClientSettings) {
        self.relay = relay
        self.settings = settings
        let requests = settings.connectionsPerRelay * settings.requestsPerConnection
        permits = AsyncSemaphore(requests)
        state = Lock(State(allowed: requests), rank: .collection)
        health = RelayHealth(memory: settings.failureMemory)
    }

    /// Opens connections before they are needed. Returns at once; failures repeat when a task waits for a connection.
    func openAhead(_ count: Int) {
        let ids = state.withLock { state in
            var ids: [Int] = []
            while !state.isClosed, state.slots.count < min(count, maxConnections) {
                state.nextID += 1
                state.slots.append(Slot(id: state.nextID))
                ids.append(state.nextID)
            }
            return ids
        }
        for id in ids {
            Task {
                // Ignore the error: a task that needs the connection opens it again.
                guard (try? await self.open(id)) != nil else { return }
                self.release(id)
            }
        }
    }

    /// Runs `body` on a connection. Waits if all are in use.
    func withConnection<Result: Sendable>(
        _ body: (RelayConnection) async throws(XFTPError) -> Result
    ) async throws(XFTPError) -> Result {
        guard await permits.acquire() else { throw .cancelled }
        defer { permits.release() }
        let (id, connection) = try await choose()
        defer { release(id) }
        return try await body(connection)
    }

    /// Runs a chunk transfer and adapts the number of concurrent requests to its outcome. On a slow network too many
    /// transfers would all miss their deadlines.
    func withTransfer(
        _ body: (RelayConnection) async throws(XFTPError) -> Void
    ) async throws(XFTPError) {
        do throws(XFTPError) {
            try await withConnection(body)
        } catch {
            if error.code == .timedOut { permits.withdraw(state.withLock { Self.slowDown(&$0) }) }
            if error.code == .timedOut || error.code == .unreachable { health.failed() }
            throw error
        }
        health.succeeded()
        let maxRequests = maxConnections * settings.requestsPerConnection
        let more = state.withLock { Self.speedUp(&$0, maxRequests: maxRequests, isFar: farRoundTrip != nil) }
        for _ in 0..<more { permits.release() }
    }

    /// Allows one more request after several successes, or all requests of a far relay at once. Returns the increase.
    private static func speedUp(_ state: inout State, maxRequests: Int, isFar: Bool) -> Int {
        var more = 0
        if isFar, !state.isWidened {
            state.isWidened = true
            more = maxRequests - state.allowed
        } else {
            state.successes += 1
            if state.allowed < maxRequests, state.successes >= 2 * state.allowed { more = 1 }
        }
        guard more > 0 else { return 0 }
        state.allowed += more
        state.successes = 0
        return more
    }

    /// Halves the allowed requests. Returns the decrease.
    private static func slowDown(_ state: inout State) -> Int {
        let fewer = state.allowed / 2
        state.allowed -= fewer
        state.successes = 0
        return fewer
    }

    /// The number of concurrent requests currently allowed.
    var requestsAllowed: Int { state.withLock { $0.allowed } }

    var farRoundTrip: Duration? { health.roundTrip(above: settings.fetching.farAfter) }

    private var maxConnections: Int {
        farRoundTrip != nil
            ? max(settings.connectionsPerRelay, settings.connectionsPerFarRelay)
            : settings.connectionsPerRelay
    }

    /// Whether no connection is open or being opened.
    var isEmpty: Bool { state.withLock { $0.slots.isEmpty } }

    /// Closes all connections permanently. Active requests fail.
    func close() {
        state.withLock { $0.isClosed = true }
        disconnect()
    }

    /// Closes all connections. Active requests fail; the next request opens a new connection.
    func disconnect() {
        let (connections, waiting) = state.withLock { state in
            defer { state.slots = [] }
            return (state.slots.compactMap(\.connection), state.takeWaiting())
        }
        for connection in connections { connection.close() }
        for opening in waiting { opening.release() }
    }

    private func choose() async throws(XFTPError) -> (Int, RelayConnection) {
        // After the machine slept, connections may be idle too long and closed by the relay.
        closeIdle()
        while true {
            switch try state.withLock({ state throws(XFTPError) in try choice(&state) }) {
            case .use(let id, let connection): return (id, connection)
            case .open(let id): return (id, try await open(id))
            case .wait(let opening):
                guard await opening.acquire() else { throw .cancelled }
            }
        }
    }

    /// Prefers an idle connection, then a new one, then the one with the fewest requests.
    private func choice(_ state: inout State) throws(XFTPError) -> Choice {
        if state.isClosed { throw .cancelled }
        state.slots.removeAll { $0.connection?.isOpen == false }
        let ready = state.slots.indices.filter {
            state.slots[$0].connection != nil && state.slots[$0].requests < settings.requestsPerConnection
        }
        let best = ready.min { state.slots[$0].requests < state.slots[$1].requests }
        let isFull = state.slots.count >= maxConnections
        if let best, let connection = state.slots[best].connection, state.slots[best].requests == 0 || isFull
        {
            state.slots[best].requests += 1
            return .use(state.slots[best].id, connection)
        }
        if isFull {
            // All other connections are still being opened.
            let opening = AsyncSemaphore(0)
            state.waiting.append(opening)
            return .wait(opening)
        }
        state.nextID += 1
        state.slots.append(Slot(id: state.nextID))
        return .open(state.nextID)
    }

    private func open(_ id: Int) async throws(XFTPError) -> RelayConnection {
        do throws(XFTPError) {
            let connection = try await RelayConnection.open(relay, settings: settings, health: health)
            let (isWanted, waiting) = state.withLock { state -> (Bool, [AsyncSemaphore]) in
                guard let index = state.slots.firstIndex(where: { $0.id == id }) else { return (false, []) }
                state.slots[index].connection = connection
                return (true, state.takeWaiting())
            }
            for opening in waiting { opening.release() }
            guard isWanted else {
                connection.close()
                throw XFTPError.cancelled
            }
            return connection
        } catch {
            let waiting = state.withLock { state in
                state.slots.removeAll { $0.id == id }
                return state.takeWaiting()
            }
            for opening in waiting { opening.release() }
            throw error
        }
    }

    private func release(_ id: Int) {
        let (startsReaping, waiting) = state.withLock { state -> (Bool, [AsyncSemaphore]) in
            let waiting = state.takeWaiting()
            guard let index = state.slots.firstIndex(where: { $0.id == id }) else { return (false, waiting) }
            state.slots[index].requests -= 1
            state.slots[index].lastUse = .now
            guard !state.isReaping else { return (false, waiting) }
            state.isReaping = true
            return (true, waiting)
        }
        for opening in waiting { opening.release() }
        guard startsReaping else { return }
        // Weak, so that a released client closes its connections.
        Task { [weak self, idleTime = settings.idleTime] in
            repeat { try? await Task.sleep(for: idleTime) } while self?.reap() ?? false
        }
    }

    /// Returns whether connections remain.
    private func reap() -> Bool {
        closeIdle()
        return state.withLock { state in
            state.isReaping = !state.slots.isEmpty
            return state.isReaping
        }
    }

    /// Closes connections idle for `idleTime`.
    private func closeIdle() {
        let limit = ContinuousClock.now - settings.idleTime
        let idle = state.withLock { state in
            let idle = state.slots.filter { $0.requests == 0 && $0.lastUse <= limit }
            state.slots.removeAll { slot in idle.contains { $0.id == slot.id } }
            return idle.compactMap(\.connection)
        }
        for connection in idle { connection.close() }
    }
}
