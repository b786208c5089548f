import Base

/// Accepts TLS 1.3 and HTTP/2 connections, each on its own thread.
public final class HTTP2Server: Sendable {
    private let listener: Listener

    /// The listening address with the assigned port.
    public var endpoint: Endpoint { listener.endpoint }

    /// Listens and starts to accept. A host name may block on a name server, a numeric address does not.
    /// - Throws: as `BlockServer.start`.
    public static func start(
        on endpoint: Endpoint, tls: TLSServerSettings, limits: HTTP2ServerLimits = HTTP2ServerLimits(),
        handler: any HTTP2ServerHandler
    ) throws(NetworkError) -> HTTP2Server {
        let context = try TLSContext(server: tls)
        let listener = try Listener.start(
            on: endpoint, threads: ("xftp-accept", "xftp-serve"),
            limits: .init(connections: limits.connections, connectionsOfPeer: limits.connectionsOfPeer)
        ) { socket, peer, wakeUp, listener in
            ServerConnection(
                listener: listener, context: context, limits: limits, peer: peer, wakeUp: wakeUp
            )
            .run(socket, applicationProtocols: tls.applicationProtocols, handler: handler)
        }
        return HTTP2Server(listener: listener)
    }

    private init(listener: Listener) { self.listener = listener }

    /// Closes the listening socket and every connection, and waits until their threads have ended.
    public func stop() async { await listener.stop() }

    /// The number of open connections.
    public var connectionCount: Int { listener.connectionCount }
}
