import Base
import Posix

/// Accepts TLS 1.3 connections on which the roles are exchanged later: first blocks of one size go both ways, and then
/// this side makes HTTP/2 requests. Each has a thread of its own.
public final class ReversedServer: Sendable {
    /// What such a server allows.
    public struct Limits: Sendable {
        /// At once; further ones are closed at once.
        public var connections = 4
        /// From accepting to the end of the TLS handshake.
        public var handshake: Duration = .seconds(15)
        /// Silence after which the peer is asked for a sign of life.
        public var question: Duration = .seconds(10)
        /// Silence after which it counts as silent.
        public var silence: Duration = .seconds(20)
        /// Silence after which the connection is closed.
        public var end: Duration = .seconds(120)

        public init() {}
    }

    private let listener: Listener

    /// Where it listens, with the port that the system gave.
    public var endpoint: Endpoint { listener.endpoint }

    /// Listens and starts to accept. A host name, unlike a numeric address, may block on a name server.
    /// - Parameters:
    ///   - size: bytes of each block.
    ///   - refused: a connection that came to nothing before it was served, on its thread.
    ///   - serve: the life of a connection on its thread. It is closed when this returns.
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

    /// Takes no more connections. Those that are open go on.
    public func takeNoMore() { listener.takeNoMore() }

    /// Closes every connection too, and waits until their threads have ended.
    public func stop() async { await listener.stop() }
}

/// One connection of a `ReversedServer`, as its thread has it.
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

    /// Makes the requests of a client from now on; returns when the connection is over.
    /// - Parameters:
    ///   - authority: the `:authority` of requests.
    ///   - begin: gets the client before its first request.
    /// - Returns: why it ended; nil: this side closed it.
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
