import Base
import Glibc
import Posix

/// The life of one client's connection on the server's thread for it.
final class ServerConnection: HTTP2SessionEvents {
    private final class Open {
        let exchange: any ServerExchange
        let deadline: Deadline
        /// The request's body is still coming, and wanted.
        var isReceiving = true
        /// An answer was handed to the session.
        var isAnswered = false
        /// Bytes taken and dropped after an early answer.
        var dropped = 0
        /// Of the answer, without a frame yet, and until when the client is to let some of them go. Each answer has
        /// such a time of its own: it holds what it comes from, so nothing else that moves may prolong it.
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

    /// What is dropped of a refused upload before the connection is closed instead: several times
    /// the largest chunk.
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
            // Whatever clients do is their affair; it is of interest only to who looks for it.
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

    /// So many bytes of an answer have no frame yet.
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
