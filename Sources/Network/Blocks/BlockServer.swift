import Base
import Posix

/// Accepts TLS 1.3 connections with blocks of one size, each on its own thread.
public final class BlockServer: Sendable {
    /// One connection, as seen by its thread.
    public struct Connection {
        public let stream: BlockStream
        public let peer: PeerAddress
        /// The connection's place in the turns; the TLS handshake took the first.
        public let place: FairSemaphore<PeerAddress>.Member
        /// Ends a wait of the stream when rung: for new output to this client, and when the server stops.
        public let wakeUp: WakeUp
        fileprivate let listener: Listener

        public var isStopping: Bool { listener.isStopping }
    }

    private let listener: Listener

    /// The listening address with the assigned port.
    public var endpoint: Endpoint { listener.endpoint }

    /// Listens and starts to accept. A host name may block on a name server, a numeric address does not.
    /// - Parameters:
    ///   - size: The bytes of each block.
    ///   - connections: The maximum number of connections. Further ones are closed at once.
    ///   - connectionsOfPeer: The same for one address.
    ///   - handshake: The time limit from accepting to the end of the TLS handshake.
    ///   - turns: The turns of handshakes, or nil for no limit.
    ///   - serve: Serves one connection on its thread.
    /// - Throws: `.nameNotFound`; `.configuration` for an address in use or of another machine; `.unreachable` for an
    ///   unsupported family; `.exhausted`.
    public static func start(
        on endpoint: Endpoint, tls: TLSServerSettings, size: Int, connections: Int,
        connectionsOfPeer: Int = .max, handshake: Duration, turns: FairSemaphore<PeerAddress>? = nil,
        serve: @escaping @Sendable (Connection) throws -> Void
    ) throws(NetworkError) -> BlockServer {
        let context = try TLSContext(server: tls)
        let listener = try Listener.start(
            on: endpoint, threads: ("smp-accept", "smp-serve"),
            limits: .init(connections: connections, connectionsOfPeer: connectionsOfPeer)
        ) { socket, peer, wakeUp, listener in
            let place = FairSemaphore<PeerAddress>.Member(of: peer)
            do {
                let stream = try TLSStream.accept(
                    socket, context: context, applicationProtocols: tls.applicationProtocols,
                    deadline: Deadline(after: handshake), stop: wakeUp,
                    turn: turns.map { TLSStream.Turn(turns: $0, place: place) })
                let blocks = BlockStream(stream, size: size, wakeUp: wakeUp)
                defer { blocks.shutDown() }
                try serve(
                    Connection(stream: blocks, peer: peer, place: place, wakeUp: wakeUp, listener: listener))
            } catch {
                // Failures of clients matter only for debugging.
                Log("network").debug(sentence(of: error))
            }
        }
        return BlockServer(listener: listener)
    }

    private init(listener: Listener) { self.listener = listener }

    /// Closes the listening socket and every connection, and waits until their threads have ended.
    public func stop() async { await listener.stop() }

    /// The number of open connections.
    public var connectionCount: Int { listener.connectionCount }
}
