import Base
import Network

/// An official core behind its WebSocket API: one connection for each lane, so that filling in the history
/// never keeps a reader waiting. The core gives each of its events to one of its connections, whichever it
/// is, so both are listened to.
public final class WebSocketTransport: OfficialTransport {
    /// What the core said of itself at the first connection.
    public let version: APIVersion
    private let lanes: [TransportLane: WebSocketLane]
    private let stream: TransportEvents

    private init(
        version: APIVersion, lanes: [TransportLane: WebSocketLane], stream: TransportEvents
    ) {
        self.version = version
        self.lanes = lanes
        self.stream = stream
    }

    deinit { for lane in lanes.values { lane.close() } }

    /// Connects, and stays connected until it is closed.
    ///
    /// - Throws: when the first connection cannot be made, or what listens is no SimpleX core.
    public static func connect(
        to endpoint: Endpoint, settings: WebSocketTransportSettings = WebSocketTransportSettings()
    ) async throws(OfficialCoreError) -> WebSocketTransport {
        try await connect(settings: settings) { endpoint }
    }

    /// As above; `locate` is asked before every connection where the core is now.
    static func connect(
        settings: WebSocketTransportSettings, locate: @escaping WebSocketLane.Locate
    ) async throws(OfficialCoreError) -> WebSocketTransport {
        let stream = TransportEvents()
        // Before the first event: nobody listens until the connections are there.
        stream.tell(.connected)
        var lanes: [TransportLane: WebSocketLane] = [:]
        var version: APIVersion?
        do throws(OfficialCoreError) {
            for name in TransportLane.allCases {
                let lane = WebSocketLane(settings: settings, events: stream, locate: locate)
                lanes[name] = lane
                version = try await lane.begin()
            }
        } catch {
            for lane in lanes.values { lane.close() }
            throw error
        }
        for lane in lanes.values { lane.stayConnected() }
        guard let version else { throw OfficialCoreError(.notUnderstood, "The core did not say what it is.") }
        return WebSocketTransport(version: version, lanes: lanes, stream: stream)
    }

    public func request(
        _ command: APICommand, lane: TransportLane, timeout: Duration, connection: UInt64?
    ) async throws(OfficialCoreError) -> APIResponse {
        guard let lane = lanes[lane] else { throw OfficialCoreError(.closed, "The core is closed.") }
        return try await lane.request(command, timeout: timeout, connection: connection)
    }

    public func connection(of lane: TransportLane) -> UInt64 { lanes[lane]?.connection ?? 0 }

    public func events() -> AsyncStream<TransportEvent> { stream.stream() }

    public func close() async {
        for lane in lanes.values { lane.close() }
        stream.finish()
    }
}
