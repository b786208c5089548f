import Base
import Posix

/// Accepts TLS 1.3 connections on which the roles change: blocks of one size in both directions first, then HTTP/2
/// requests of this side. Each connection has its own thread.
public final class ReversedServer: Sendable {
    /// The limits of such a server.
    public struct Limits: Sendable {
        /// The maximum number of connections. Further ones are closed at once.
        public var connections = 4
        /// The time limit from accepting to the end of the TLS handshake.
        public var handshake: Duration = .seconds(15)
        /// The silence before a ping.
        public var question: Duration = .seconds(10)
        /// The silence after which the peer counts as silent.
        public var silence: Duration = .seconds(20)
        /// The silence after which the connection is closed.
        public var end: Duration = .seconds(120)

        public init() {}
    }

    private let listener: Listener

    /// The listening address with the assigned port.
    public var endpoint: Endpoint { listener.endpoint }

    /// Listens and starts to accept. A host name may block on a name server, a numeric address does not.
    /// - Parameters:
    ///   - size: The bytes of each block.
    ///   - refused: Called for a connection that failed before it was served, on its thread.
    ///   - serve: Serves a connection on its thread. The connection is closed when this returns.
    /// - Throws: as `BlockServer.start`.
    public static func start(
        on endpoint: Endpoint, tls: TLSServerSettings, size: Int, limits: Limits = Limits(),
        refused: @escaping @Sendable (NetworkError) -> Void,
        serve: @escaping @Sendable (ReversedConnection) -> Void
    ) throws(NetworkError) -> ReversedServer {
        let context = try TLSContext(server: tls)
        let listener = try Listener.start(
            on: endpoint, threads: ("phone-accept", "phone-serve"),
            limits: .init(connections: limits.connections, connectionsOfPeer: limits.connections)
        ) { socket, _, wakeUp, listener in
            PeerWatch.allowSleep(on: socket.descriptor)
            do throws(NetworkError) {
                let stream = try TLSStream.accept(
                    socket, context: context, applicationProtocols: tls.applicationProtocols,
                    deadline: Deadline(after: limits.handshake), stop: wakeUp)
                let blocks = BlockStream(stream, size: size, wakeUp: wakeUp)
                serve(
                    ReversedConnection(
                        blocks: blocks, wakeUp: wakeUp, limits: limits,
                        hasStopped: { listener.isStopping }))
                blocks.shutDown()
            } catch {
                refused(error)
            }
        }
        return ReversedServer(listener: listener)
    }

    private init(listener: Listener) { self.listener = listener }

    /// Stops accepting. Open connections continue.
    public func takeNoMore() { listener.takeNoMore() }

    /// Closes every connection too, and waits until their threads have ended.
    public func stop() async { await listener.stop() }
}

/// One connection of a `ReversedServer`, as seen by its thread.
public final class ReversedConnection {
    public let blocks: BlockStream
    private let wakeUp: WakeUp
    private let limits: ReversedServer.Limits
    private let hasStopped: () -> Bool

    init(
        blocks: BlockStream, wakeUp: WakeUp, limits: ReversedServer.Limits,
        hasStopped: @escaping () -> Bool
    ) {
        self.blocks = blocks
        self.wakeUp = wakeUp
        self.limits = limits
        self.hasStopped = hasStopped
    }

    /// Whether the server is stopping, which ends waits of `blocks`.
    public var isStopping: Bool { hasStopped() }

    /// Sends a client's requests from now on; returns when the connection ends.
    /// - Parameters:
    ///   - authority: The `:authority` of requests.
    ///   - begin: Gets the client before its first request.
    /// - Returns: The reason for the end, or nil if this side closed the connection.
    public func makeRequests(
        authority: String, begin: (DrainingClient) -> Void
    ) -> NetworkError? {
        let client = DrainingClient(wakeUp: wakeUp)
        do throws(NetworkError) {
            let driver = try DrainingDriver(
                stream: blocks.stream, client: client, authority: authority,
                limits: Liveness.Limits(
                    question: limits.question, silence: limits.silence, end: limits.end),
                hasStopped: hasStopped)
            begin(client)
            return driver.run()
        } catch {
            return error
        }
    }
}
