import Base
import Glibc
import Posix

/// The life of one client's connection on the server's thread for it.
final class ServerConnection: HTTP2SessionEvents {
    private struct Open {
        let exchange: any ServerExchange
        let deadline: Deadline
        /// The request's body is still coming, and wanted.
        var isReceiving = true
        /// An answer was handed to the session.
        var isAnswered = false
        /// Bytes taken and dropped after an early answer.
        var dropped = 0
    }

    private unowned let server: HTTP2Server
    private let context: TLSContext
    private let limits: HTTP2Server.Limits
    private let wakeUp: WakeUp
    private var handler: (any ServerConnectionHandler)?
    private var session: HTTP2Session?
    private var open: [Int32: Open] = [:]

    /// What is dropped of a refused upload before the connection is closed instead: several times
    /// the largest chunk.
    private static let maxDropped = 64 << 20

    init(server: HTTP2Server, context: TLSContext, limits: HTTP2Server.Limits, wakeUp: WakeUp) {
        self.server = server
        self.context = context
        self.limits = limits
        self.wakeUp = wakeUp
    }

    /// Returns when the connection is closed.
    func run(_ socket: Socket, applicationProtocols: [String], handler: any HTTP2ServerHandler) {
        do throws(NetworkError) {
            let stream = try TLSStream(context: context, socket: socket, isClient: false)
            try shakeHands(stream, socket)
            guard stream.applicationProtocol.map(applicationProtocols.contains) == true else {
                throw NetworkError(.handshake, "A client did not offer the protocol xftp/1.")
            }
            self.handler = handler.connected(channelBinding: stream.channelBinding)
            try serve(stream)
        } catch {
            // Whatever clients do is their affair; it is of interest only to who looks for it.
            Log("network").debug(error.sentence)
        }
        for (_, entry) in open where entry.isReceiving { entry.exchange.abandon() }
    }

    private func shakeHands(_ stream: TLSStream, _ socket: Socket) throws(NetworkError) {
        let deadline = Deadline(after: limits.handshake)
        while try !stream.handshake() {
            guard !deadline.hasPassed else {
                throw NetworkError(.timeout, "A client did not finish the TLS handshake in time.")
            }
            let events = Int16(POLLIN) | (stream.hasUnsent ? Int16(POLLOUT) : 0)
            _ = try socket.wait(for: events, until: deadline, stop: wakeUp)
        }
    }

    private func serve(_ stream: TLSStream) throws(NetworkError) {
        let session = try HTTP2Session(role: .server, events: self)
        self.session = session
        let driver = ConnectionDriver(stream: stream, session: session, wakeUp: wakeUp)
        defer { driver.shutDown() }
        var idle = Deadline(after: limits.idle)
        var stall = Deadline(after: limits.stall)
        while !server.isStopping {
            let step = try driver.step()
            if step.hasEnded { return }
            if step.moved > 0 { stall = Deadline(after: limits.stall) }
            if !open.isEmpty { idle = Deadline(after: limits.idle) }
            let receiving = open.values.filter(\.isReceiving).map(\.deadline).min()
            let deadline = open.isEmpty ? idle : min(stall, receiving ?? stall)
            guard !deadline.hasPassed else {
                throw NetworkError(.timeout, "A client was silent for too long.")
            }
            if step.isIdle { try driver.wait(until: deadline) }
        }
    }

    // MARK: HTTP2SessionEvents

    func headersArrived(stream: Int32, status: Int?) {
        guard let handler else { return }
        open[stream] = Open(exchange: handler.requestBegan(), deadline: Deadline(after: limits.request))
    }

    func bodyArrived(stream: Int32, bytes: UnsafeRawBufferPointer) throws {
        guard let entry = open[stream] else { return }
        if entry.isAnswered {
            open[stream]?.dropped += bytes.count
            guard entry.dropped <= Self.maxDropped else {
                throw NetworkError(.protocolViolation, "A client goes on with an upload that was refused.")
            }
        } else if let answer = try entry.exchange.receive(bytes) {
            try submit(answer, to: stream)
        }
    }

    func messageEnded(stream: Int32) throws {
        guard let entry = open[stream] else { return }
        open[stream]?.isReceiving = false
        if !entry.isAnswered { try submit(entry.exchange.finish(), to: stream) }
    }

    func streamClosed(stream: Int32, error: UInt32) {
        guard let entry = open.removeValue(forKey: stream), entry.isReceiving else { return }
        entry.exchange.abandon()
    }

    private func submit(_ answer: any BodySource, to stream: Int32) throws {
        open[stream]?.isAnswered = true
        try session?.submitResponse(stream: stream, body: answer)
    }
}
