import Base
import Glibc
import Posix

/// Runs one client's connection on its server thread.
final class ServerConnection: HTTP2SessionEvents {
    private final class Open {
        let exchange: any ServerExchange
        let deadline: Deadline
        /// The rest of the request's body is expected and wanted.
        var isReceiving = true
        /// The session has the answer.
        var isAnswered = false
        /// The bytes read and dropped after an early answer.
        var dropped = 0
        /// The answer's bytes without a frame, and the deadline for the client to read some. Each answer has its own
        /// deadline: it holds resources, so other traffic must not prolong it.
        var unsent = 0
        var stall: Deadline?

        init(_ exchange: any ServerExchange, deadline: Deadline) {
            self.exchange = exchange
            self.deadline = deadline
        }

        var end: Deadline? {
            guard isReceiving else { return stall }
            return stall.map { min($0, deadline) } ?? deadline
        }
    }

    private let listener: Listener
    private let context: TLSContext
    private let limits: HTTP2ServerLimits
    private let peer: PeerAddress
    private let wakeUp: WakeUp
    private var handler: (any ServerConnectionHandler)?
    private var session: HTTP2Session?
    private var open: [Int32: Open] = [:]

    /// The maximum number of dropped bytes of a refused upload, several times the largest chunk. Beyond it the
    /// connection is closed.
    private static let maxDropped = 64 << 20

    init(
        listener: Listener, context: TLSContext, limits: HTTP2ServerLimits, peer: PeerAddress, wakeUp: WakeUp
    ) {
        self.peer = peer
        self.listener = listener
        self.context = context
        self.limits = limits
        self.wakeUp = wakeUp
    }

    /// Returns when the connection is closed.
    func run(_ socket: Socket, applicationProtocols: [String], handler: any HTTP2ServerHandler) {
        do throws(NetworkError) {
            let stream = try TLSStream.accept(
                socket, context: context, applicationProtocols: applicationProtocols,
                deadline: Deadline(after: limits.handshake), stop: wakeUp)
            self.handler = handler.connected(channelBinding: stream.channelBinding, from: peer)
            try serve(stream)
        } catch {
            // Failures of clients matter only for debugging.
            Log("network").debug(error.sentence)
        }
        for (_, entry) in open where entry.isReceiving { entry.exchange.abandon() }
    }

    private func serve(_ stream: TLSStream) throws(NetworkError) {
        let session = try HTTP2Session(role: .server, events: self)
        self.session = session
        let driver = ConnectionDriver(stream: stream, session: session, wakeUp: wakeUp)
        defer { driver.shutDown() }
        var idle = Deadline(after: limits.idle)
        var stall = Deadline(after: limits.stall)
        while !listener.isStopping {
            let step = try driver.step()
            if step.hasEnded { return }
            if step.moved > 0 {
                stall = Deadline(after: limits.stall)
                for (stream, entry) in open where entry.isAnswered {
                    note(entry, session.unsentBody(stream: stream))
                }
            }
            if !open.isEmpty { idle = Deadline(after: limits.idle) }
            let deadline = open.values.compactMap(\.end).reduce(open.isEmpty ? idle : stall, min)
            guard !deadline.hasPassed else {
                throw NetworkError(.timeout, "A client was silent for too long.")
            }
            if step.isIdle { try driver.wait(until: deadline) }
        }
    }

    /// Notes the answer's bytes without a frame.
    private func note(_ entry: Open, _ unsent: Int) {
        guard unsent != entry.unsent else { return }
        entry.unsent = unsent
        entry.stall = unsent > 0 ? Deadline(after: limits.stall) : nil
    }

    // MARK: HTTP2SessionEvents

    func headersArrived(stream: Int32, status: Int?) {
        guard let handler else { return }
        open[stream] = Open(handler.requestBegan(), deadline: Deadline(after: limits.request))
    }

    func bodyArrived(stream: Int32, bytes: UnsafeRawBufferPointer) throws {
        guard let entry = open[stream] else { return }
        if entry.isAnswered {
            entry.dropped += bytes.count
            guard entry.dropped <= Self.maxDropped else {
                throw NetworkError(.protocolViolation, "A client goes on with an upload that was refused.")
            }
        } else if let answer = try entry.exchange.receive(bytes) {
            try submit(answer, to: stream)
        }
    }

    func messageEnded(stream: Int32) throws {
        guard let entry = open[stream] else { return }
        entry.isReceiving = false
        if !entry.isAnswered { try submit(entry.exchange.finish(), to: stream) }
    }

    func streamClosed(stream: Int32, error: UInt32) {
        guard let entry = open.removeValue(forKey: stream), entry.isReceiving else { return }
        entry.exchange.abandon()
    }

    private func submit(_ answer: any BodySource, to stream: Int32) throws {
        if let entry = open[stream] {
            entry.isAnswered = true
            note(entry, answer.length)
        }
        try session?.submitResponse(stream: stream, body: answer)
    }
}
