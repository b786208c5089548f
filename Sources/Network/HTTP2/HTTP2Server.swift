import Base

/// Accepts TLS 1.3 and HTTP/2 connections, each on a thread of its own.
public final class HTTP2Server: Sendable {
    private let listener: Listener

    /// Where it listens, with the port that the system gave.
    public var endpoint: Endpoint { listener.endpoint }

    /// Listens and starts to accept. A host name, unlike a numeric address, may block on a name server.
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

    /// Connections that are open now.
    public var connectionCount: Int { listener.connectionCount }
}
