import Base
import Posix

/// Accepts TLS 1.3 connections that carry blocks of one size, each on a thread of its own.
public final class BlockServer: Sendable {
    /// One connection, as its thread has it.
    public struct Connection {
        public let stream: BlockStream
        public let peer: PeerAddress
        /// Its turns among the others, of which TLS had the first.
        public let place: FairSemaphore<PeerAddress>.Member
        /// Ends a wait of the stream when it is rung: by whoever has something for this connection, and when the
        /// server stops.
        public let wakeUp: WakeUp
        fileprivate let listener: Listener

        public var isStopping: Bool { listener.isStopping }
    }

    private let listener: Listener

    /// Where it listens, with the port that the system gave.
    public var endpoint: Endpoint { listener.endpoint }

    /// Listens and starts to accept. A host name, unlike a numeric address, may block on a name server.
    /// - Parameters:
    ///   - size: bytes of each block.
    ///   - connections: at once; further ones are closed at once.
    ///   - connectionsOfPeer: the same of one address.
    ///   - handshake: from accepting to the end of the TLS handshake.
    ///   - turns: in which connections shake hands; nil: all at once.
    ///   - serve: the life of one connection on its thread.
    /// - Throws: `.nameNotFound`; `.configuration` for an address that is taken or not this machine's;
    ///   `.unreachable` for a kind of address that it does not have; `.exhausted`.
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
                // Whatever clients do is their affair; it is of interest only to who looks for it.
                Log("network").debug(sentence(of: error))
            }
        }
        return BlockServer(listener: listener)
    }

    private init(listener: Listener) { self.listener = listener }

    /// Closes the listening socket and every connection, and waits until their threads have ended.
    public func stop() async { await listener.stop() }

    /// Connections that are open now.
    public var connectionCount: Int { listener.connectionCount }
}
