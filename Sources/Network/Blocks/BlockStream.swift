import Base
import Glibc
import Posix

/// A TLS connection with blocks of one size in both directions. Belongs to one thread, which moves the available blocks
/// (`receive`, `send`) and waits for more (`wait`).
///
/// It holds one incomplete block of the peer and the unsent blocks for it; check `hasUnsent` before sending more.
public final class BlockStream {
    /// For the protocol that follows the last block.
    let stream: TLSStream
    private let wakeUp: WakeUp
    private let size: Int
    private let incoming: ByteQueue
    /// Whether `wait` found the connection broken: reset, or without a peer. Sending fails then, and a thread that does
    /// not receive has no other sign, while every wait ends at once.
    public private(set) var isBroken = false

    /// The client's Finished message, 32 bytes: "tls-unique" (RFC 5929), the same on both sides.
    public let channelBinding: [UInt8]
    /// DER, leaf first. Empty for a client without certificates.
    public let peerCertificates: [[UInt8]]

    /// Connects to the server of the settings and verifies its identity. Blocks.
    /// - Parameters:
    ///   - size: The bytes of each block.
    ///   - mayReach: Returns whether a numeric address, 4 or 16 bytes, is permitted; nil permits all.
    ///   - stop: Cancels connecting when rung.
    ///   - wakeUp: Ends a wait of the stream.
    /// - Throws: `.nameNotFound`, `.unreachable`, `.notAllowed` (no permitted address), `.timeout`, `.closed`,
    ///   `.exhausted`, `.handshake` (also of the proxy), `.identity`, `.configuration`; `.cancelled` if `stop` was
    ///   rung.
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

    /// Returns the next complete block, or nil.
    /// - Throws: `.closed` if the peer has closed, also properly; `.protocolViolation` for a damaged stream.
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

    /// Queues a block. It leaves with this call or a later `flush`.
    /// - Throws: `.closed`.
    public func send(_ block: [UInt8]) throws(NetworkError) {
        precondition(block.count == size, "a block of another size")
        try block.withUnsafeBufferPointer { bytes throws(NetworkError) in
            try stream.write(UnsafeRawBufferPointer(bytes))
        }
        _ = try stream.flush()
    }

    /// Writes to the socket. Returns true if nothing is left.
    /// - Throws: `.closed`.
    @discardableResult
    public func flush() throws(NetworkError) -> Bool { try stream.flush() }

    /// Whether bytes wait because the peer or its network is slower than the sender.
    public var hasUnsent: Bool { stream.hasUnsent }

    /// Sleeps until the peer sends, the socket accepts more, the event is rung (and then cleared), or the limit passes.
    /// - Parameters:
    ///   - receives: Whether bytes of the peer end the sleep.
    ///   - limit: The maximum time, or nil for none.
    /// - Returns: Whether the peer sent something, or is gone.
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

    /// Sends close_notify as far as the socket accepts it at once.
    public func shutDown() { stream.shutDown() }
}
