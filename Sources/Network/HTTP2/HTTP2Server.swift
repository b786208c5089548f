import Base

/// Accepts TLS 1.3 and HTTP/2 connections, each on a thread of its own.
public final class HTTP2Server: Sendable {
    /// What a client may cost.
    public struct Limits: Sendable {
        /// Connections at once; further ones are closed at once.
        public var connections = 256
        /// From accepting to the end of the TLS handshake.
        public var handshake: Duration = .seconds(30)
        /// From a request's headers to the end of its body. The official relay gives a chunk as long.
        public var request: Duration = .seconds(300)
        /// How long a client may refuse to take more of an answer.
        public var stall: Duration = .seconds(120)
        /// How long a connection may stay without requests.
        public var idle: Duration = .seconds(1800)

        public init() {}
    }

    private let listener: Listener

    /// Where it listens, with the port that the system gave.
    public var endpoint: Endpoint { listener.endpoint }

    /// Listens and starts to accept. A host name, unlike a numeric address, may block on a name server.
    public static func start(
        on endpoint: Endpoint, tls: TLSServerSettings, limits: Limits = Limits(),
        handler: any HTTP2ServerHandler
    ) throws(NetworkError) -> HTTP2Server {
        let context = try TLSContext(server: tls)
        let listener = try Listener.start(
            on: endpoint, threads: ("xftp-accept", "xftp-serve"), limit: limits.connections
        ) { socket, wakeUp, listener in
            ServerConnection(listener: listener, context: context, limits: limits, wakeUp: wakeUp)
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
