import Base
import Glibc
import Posix

/// A TLS connection that carries blocks of one size in both directions. It belongs to one thread, which moves what can
/// be moved (`receive`, `send`) and waits for more (`wait`).
///
/// What it keeps of the peer is one block that has not come to its end; what it keeps for the peer, what it was given:
/// who gives looks at `hasUnsent` before.
public final class BlockStream {
    /// For whoever goes on with it after the last block.
    let stream: TLSStream
    private let wakeUp: WakeUp
    private let size: Int
    private let incoming: ByteQueue
    /// Whether the connection was found to be over while `wait` slept: the peer has reset it, or is away. Nothing more can
    /// be sent, and who does not receive would hear of it nowhere else, while every wait ends at once.
    public private(set) var isBroken = false

    /// The client's Finished message, 32 bytes: "tls-unique" (RFC 5929), the same on both sides.
    public let channelBinding: [UInt8]
    /// DER, leaf first; of a client that showed none it is empty.
    public let peerCertificates: [[UInt8]]

    /// Connects, within a time, to a server that proves to be the one of the settings. Blocks.
    /// - Parameters:
    ///   - size: bytes of each block.
    ///   - mayReach: which of the numeric addresses that the host has, 4 or 16 bytes; nil: all.
    ///   - stop: gives up connecting when it is rung.
    ///   - wakeUp: ends a wait of the stream.
    /// - Throws: `.nameNotFound`, `.unreachable`, `.notAllowed` (none may be reached), `.timeout`, `.closed`,
    ///   `.exhausted`, `.handshake` (also of the proxy), `.identity`, `.configuration`; `.cancelled` when
    ///   `stop` is rung.
    public static func connect(
        to endpoint: Endpoint, tls: TLSClientSettings, proxy: SOCKSProxy? = nil,
        mayReach: (@Sendable ([UInt8]) -> Bool)? = nil, size: Int, timeout: Duration, stop: WakeUp,
        wakeUp: WakeUp
    ) throws(NetworkError) -> BlockStream {
        let stream = try TLSStream.connect(
            ClientRoute(endpoint: endpoint, tls: tls, proxy: proxy, mayReach: mayReach),
            deadline: Deadline(after: timeout),
            stop: stop)
        return BlockStream(stream, size: size, wakeUp: wakeUp)
    }

    init(_ stream: TLSStream, size: Int, wakeUp: WakeUp) {
        self.stream = stream
        self.wakeUp = wakeUp
        self.size = size
        incoming = ByteQueue(capacity: size)
        channelBinding = stream.channelBinding
        peerCertificates = stream.peerCertificates
    }

    /// The next block that is here as a whole, or nil.
    /// - Throws: `.closed` when the peer has closed, also properly; `.protocolViolation` for a damaged stream.
    public func receive() throws(NetworkError) -> [UInt8]? {
        while incoming.count < size {
            var reading = TLSStream.Reading.wouldBlock
            _ = try incoming.append(upTo: size - incoming.count) { buffer throws(NetworkError) in
                reading = try stream.read(into: buffer)
                if case .bytes(let count) = reading { return count }
                return 0
            }
            switch reading {
            case .bytes: continue
            case .wouldBlock: return nil
            case .ended: throw NetworkError(.closed, "The other side closed the connection.")
            }
        }
        defer { incoming.removeAll() }
        return Array(incoming.bytes)
    }

    /// Takes a block on its way to the peer; it leaves with this call or a later `flush`.
    /// - Throws: `.closed`.
    public func send(_ block: [UInt8]) throws(NetworkError) {
        precondition(block.count == size, "a block of another size")
        try block.withUnsafeBufferPointer { bytes throws(NetworkError) in
            try stream.write(UnsafeRawBufferPointer(bytes))
        }
        _ = try stream.flush()
    }

    /// Gives the socket what it takes. True when nothing is left.
    /// - Throws: `.closed`.
    @discardableResult
    public func flush() throws(NetworkError) -> Bool { try stream.flush() }

    /// Whether bytes wait for the socket: the peer, or the way to it, is slower than who sends.
    public var hasUnsent: Bool { stream.hasUnsent }

    /// Sleeps until the peer sent something, takes more of what waits for it, the event is rung (which is cleared
    /// then), or some time has passed.
    /// - Parameters:
    ///   - receives: whether what the peer sends ends the sleep.
    ///   - limit: nil for none.
    /// - Returns: whether the peer has sent something that the sleep waited for, or is gone.
    @discardableResult
    public func wait(receives: Bool = true, atMost limit: Duration?) -> Bool {
        let events = (receives ? Int16(POLLIN) : 0) | (hasUnsent ? Int16(POLLOUT) : 0)
        var requests = [
            pollfd(fd: stream.socket.descriptor, events: events, revents: 0),
            pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        poll(&requests, milliseconds: limit.map { Deadline(after: $0).milliseconds } ?? -1)
        if requests[0].revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 { isBroken = true }
        if requests[1].revents != 0 { wakeUp.clear() }
        return requests[0].revents & ~Int16(POLLOUT) != 0
    }

    /// Says goodbye as far as the socket takes it at once.
    public func shutDown() { stream.shutDown() }
}
