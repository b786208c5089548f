/// The connection to an official core: its library in this process, its program over a WebSocket, or a phone.
///
/// - The transport sends a request once. The result is the core's answer, `.refused` with the core's error,
///   or another error. After `.timeout`, `.broken`, `.cancelled`, `.interrupted` and `.notUnderstood` the
///   command may have taken effect; after other errors it has not.
/// - Requests of one lane are processed in order, the two lanes in parallel.
/// - Events arrive in order, each once, on the one stream. They may be lost when the connection breaks or
///   another client is attached, so the listener reads the state again after each `.connected`.
/// - A transport connects and reconnects by itself. Requests made without a connection fail at once with
///   `.disconnected` and are never sent. Each connection of a lane has a unique number, because the next one
///   may lead to another core.
/// - No method blocks a thread of the cooperative pool. `close` ends all work and returns when a core that
///   ChatFS runs has ended.
public protocol OfficialTransport: Sendable {
    /// - Parameter connection: The only connection of the lane to use, else `.disconnected`; nil for any.
    /// - Throws: `.refused`, `.invalidCommand`, `.disconnected`, `.broken`, `.timeout`, `.cancelled`,
    ///   `.closed`, `.interrupted`, `.notUnderstood`.
    func request(
        _ command: APICommand, lane: TransportLane, timeout: Duration, connection: UInt64?
    ) async throws(OfficialCoreError) -> APIResponse

    /// The unique number of a lane's current or last connection.
    func connection(of lane: TransportLane) -> UInt64

    /// Returns the stream for one listener. A second call ends the first stream.
    func events() -> AsyncStream<TransportEvent>

    /// File transfer with a core on another machine; nil if its files are in a local folder.
    var remoteFiles: (any RemoteFiles)? { get }

    func close() async
}

/// The lane of a command. The core processes the commands of one lane one after another.
public enum TransportLane: Hashable, Sendable, CaseIterable {
    /// Commands with a waiting caller: receiving, sending, state.
    case foreground
    /// Reading the history.
    case background
}

public enum TransportEvent: Hashable, Sendable {
    case event(APIEvent)
    /// Commands can be sent. Earlier events may have been lost.
    case connected
    /// Until the next `.connected`; the sentence gives the reason.
    case disconnected(String)
}

extension OfficialTransport {
    public var remoteFiles: (any RemoteFiles)? { nil }

    /// Sends a request over any connection.
    /// - Throws: As `request` of the protocol.
    public func request(
        _ command: APICommand, lane: TransportLane = .foreground, timeout: Duration = .seconds(30)
    ) async throws(OfficialCoreError) -> APIResponse {
        try await request(command, lane: lane, timeout: timeout, connection: nil)
    }
}
