import Base
import JSON
import Network

/// One connection to the core that reconnects after each break.
final class WebSocketLane: Sendable {
    typealias Locate = @Sendable () async throws(OfficialCoreError) -> Endpoint

    private struct State {
        var client: WebSocketClient?
        /// Counts connections, because the end of an earlier one does not concern the current one.
        var generation: UInt64 = 0
        var breakage: WorkSignal?
        var keeper: Task<Void, Never>?
        var isClosed = false
    }

    private let settings: WebSocketTransportSettings
    private let events: TransportEvents
    private let locate: Locate
    private let pending = PendingRequests(refusal: WebSocketLane.disconnected)
    private let state = Lock(State(), rank: .collection)

    private static let disconnected = OfficialCoreError(
        .disconnected, "There is no connection to the SimpleX core at present.")
    private static let closed = OfficialCoreError(.closed, "The connection to the SimpleX core is closed.")

    init(
        settings: WebSocketTransportSettings, events: TransportEvents, locate: @escaping Locate
    ) {
        self.settings = settings
        self.events = events
        self.locate = locate
    }

    /// Connects and requests the core's version.
    func begin() async throws(OfficialCoreError) -> APIVersion {
        let endpoint = try await locate()
        let generation = state.withLock { state in
            state.generation += 1
            return state.generation
        }
        let client: WebSocketClient
        do throws(NetworkError) {
            client = try await WebSocketClient.connect(
                to: endpoint, timeout: settings.connectTimeout,
                listener: WebSocketLaneListener(lane: self, generation: generation))
        } catch {
            throw Self.wrap(error, at: endpoint)
        }
        let isWanted = state.withLock { state in
            guard !state.isClosed, state.generation == generation else { return false }
            state.client = client
            return true
        }
        guard isWanted else {
            client.close()
            throw Self.closed
        }
        pending.open()
        do throws(OfficialCoreError) {
            guard
                case .version(let version) = try await request(
                    .version, timeout: settings.connectTimeout, connection: generation)
            else {
                throw OfficialCoreError(.notUnderstood, "\(endpoint) is not a SimpleX core; check --core.")
            }
            return version
        } catch {
            client.close()
            throw error
        }
    }

    private static func wrap(_ error: NetworkError, at endpoint: Endpoint) -> OfficialCoreError {
        switch error.code {
        case .cancelled: OfficialCoreError(.cancelled, error.sentence, cause: error)
        case .handshake, .protocolViolation:
            OfficialCoreError(
                .notUnderstood,
                "\(endpoint) is not a SimpleX core: \(error.sentence.lowercasedFirst)", cause: error)
        default:
            OfficialCoreError(
                .disconnected, "The SimpleX core cannot be reached: \(error.sentence.lowercasedFirst)",
                cause: error)
        }
    }

    /// Reconnects after every break from now on.
    func stayConnected() {
        let breakage = WorkSignal()
        let keeper = Task { [self] in
            for await _ in breakage.stream {
                guard !Task.isCancelled else { return }
                // The break may be of an earlier connection.
                guard state.withLock({ $0.client?.isOpen != true }) else { continue }
                events.tell(.disconnected(Self.disconnected.sentence))
                await reconnect()
            }
        }
        let isBroken = state.withLock { state in
            state.breakage = breakage
            state.keeper = keeper
            if state.isClosed { keeper.cancel() }
            return state.client?.isOpen != true
        }
        if isBroken { breakage.notify() }
    }

    private func reconnect() async {
        // The program may take long to return; another program in its place counts the same.
        await settings.retry.repeatWhile {
            do throws(OfficialCoreError) {
                _ = try await begin()
            } catch {
                return true
            }
            events.tell(.connected)
            return false
        }
    }

    /// The number of the current or last connection.
    var connection: UInt64 { state.withLock { $0.generation } }

    /// - Parameter connection: The only connection to use; nil for any.
    func request(
        _ command: APICommand, timeout: Duration, connection: UInt64?
    ) async throws(OfficialCoreError) -> APIResponse {
        let text = try command.text()
        return try await pending.request(timeout: timeout) { name throws(OfficialCoreError) in
            let present = state.withLock { state in
                connection == nil || connection == state.generation ? state.client : nil
            }
            guard let client = present else { throw Self.disconnected }
            let frame = JSONText.object([
                "corrId": JSONText.string(name), "cmd": JSONText.string(text),
            ])
            do throws(NetworkError) {
                try client.send(Array(frame.utf8))
            } catch {
                // Refused before a byte was written.
                throw OfficialCoreError(.disconnected, Self.disconnected.sentence, cause: error)
            }
        }
    }

    func close() {
        let (client, keeper, breakage) = state.withLock { state in
            state.isClosed = true
            defer { state.client = nil }
            return (state.client, state.keeper, state.breakage)
        }
        keeper?.cancel()
        breakage?.finish()
        client?.close()
        pending.fail(Self.closed)
    }

    // MARK: Events of the connection

    fileprivate func received(_ message: [UInt8]) {
        guard let frame = APIFrame(message) else { return }
        guard let name = frame.correlation else { return events.tell(.event(frame.event)) }
        let outcome = Result { () throws(OfficialCoreError) in try frame.answer() }
        // The request has expired, but only this answer contains the sent item.
        if !pending.finish(name, outcome), case .success(.newChatItems) = outcome {
            events.tell(.event(frame.event))
        }
    }

    fileprivate func ended(_ generation: UInt64) {
        let breakage = state.withLock { state -> WorkSignal? in
            guard state.generation == generation, !state.isClosed else { return nil }
            state.client = nil
            return state.breakage
        }
        guard let breakage else { return failIfCurrent(generation) }
        pending.fail(Self.disconnected)
        breakage.notify()
    }

    /// The connection ended before it was kept, so its requests end too.
    private func failIfCurrent(_ generation: UInt64) {
        let (isCurrent, isClosed) = state.withLock { ($0.generation == generation, $0.isClosed) }
        if isCurrent { pending.fail(isClosed ? Self.closed : Self.disconnected) }
    }
}

/// Passes received messages to the lane while it exists.
private struct WebSocketLaneListener: WebSocketListener {
    weak let lane: WebSocketLane?
    let generation: UInt64

    func received(_ message: [UInt8]) { lane?.received(message) }
    func ended(_ error: NetworkError) { lane?.ended(generation) }
}

extension String {
    /// For a sentence after a colon.
    fileprivate var lowercasedFirst: String { prefix(1).lowercased() + dropFirst() }
}
