import Base
import Network

/// An official core with its WebSocket API: one connection per lane, so that reading the history never delays
/// foreground commands. The core sends each event to one of its connections, so both are read.
public final class WebSocketTransport: OfficialTransport {
    /// The core's version at the first connection.
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

    /// Connects, and reconnects until `close`.
    ///
    /// - Throws: The error of the first connection, or of an endpoint that is not a SimpleX core.
    public static func connect(
        to endpoint: Endpoint, settings: WebSocketTransportSettings = WebSocketTransportSettings()
    ) async throws(OfficialCoreError) -> WebSocketTransport {
        try await connect(settings: settings) { endpoint }
    }

    /// Like `connect(to:)`; `locate` returns the core's address before every connection.
    static func connect(
        settings: WebSocketTransportSettings, locate: @escaping WebSocketLane.Locate
    ) async throws(OfficialCoreError) -> WebSocketTransport {
        let stream = TransportEvents()
        // Sent first, because listeners start only after the connections exist.
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
        guard let version else {
            throw OfficialCoreError(.notUnderstood, "The core did not report its version.")
        }
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
