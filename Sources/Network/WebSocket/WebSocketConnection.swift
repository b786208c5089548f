import Base
import Glibc
import Posix

/// A WebSocket on its thread: handshake, frames in both directions, close.
struct WebSocketConnection {
    private let socket: Socket
    private let shared: WebSocketState
    private var reader = WebSocketReader(limit: WebSocketLimits.messageLength)
    private let outgoing = ByteQueue(capacity: 64 << 10)
    private let buffer = ByteQueue(capacity: 256 << 10)
    private let random = SystemRandomSource()
    /// Our close frame is queued; the peer's messages are still delivered.
    private var goodbye: Deadline?
    private var peerClosed = false
    /// The payload of the latest unanswered ping. Earlier ones need no answer (RFC 6455, 5.5.3), so a peer that pings
    /// without reading cannot fill memory.
    private var unansweredPing: [UInt8]?
    /// The bytes after the answer to the handshake.
    private var early: [UInt8] = []

    static func establish(
        _ endpoint: Endpoint, deadline: Deadline, shared: WebSocketState
    ) throws(NetworkError) -> WebSocketConnection {
        let stop = shared.wakeUp
        let addresses = try AddressLookUp(endpoint).run(deadline: deadline, stop: stop)
        let socket = try Socket.connect(to: addresses, deadline: deadline, stop: stop)
        var connection = WebSocketConnection(socket: socket, shared: shared)
        try connection.shakeHands(endpoint, deadline)
        return connection
    }

    private init(socket: Socket, shared: WebSocketState) {
        self.socket = socket
        self.shared = shared
    }

    private mutating func shakeHands(_ endpoint: Endpoint, _ deadline: Deadline) throws(NetworkError) {
        let handshake = WebSocketHandshake(random: random.bytes(16))
        var answer: [UInt8] = []
        append(handshake.request(host: endpoint.description))
        while true {
            let isSent = try flush()
            let isOpen = try receive(into: &answer)
            if let end = try handshake.check(answer) {
                early = Array(answer[end...])
                return
            }
            guard isOpen else { throw Self.broken }
            guard !deadline.hasPassed else {
                throw NetworkError(.timeout, "The server did not answer the WebSocket handshake in time.")
            }
            let events = Int16(POLLIN) | (isSent ? 0 : Int16(POLLOUT))
            _ = try socket.wait(for: events, until: deadline, stop: shared.wakeUp)
        }
    }

    private static let broken = NetworkError(.closed, "The connection broke off.")

    /// Serves until the connection ends, and returns the reason.
    mutating func run(_ listener: any WebSocketListener) -> NetworkError {
        do throws(NetworkError) {
            let first = early
            early = []
            try take(first, listener)
            while true {
                let isSent = try step(listener)
                if peerClosed, isSent { return Self.broken }
                if let goodbye, goodbye.hasPassed { return Self.broken }
                try wait(isSent)
            }
        } catch {
            return error
        }
    }

    /// Returns true if the socket accepted everything.
    private mutating func step(_ listener: any WebSocketListener) throws(NetworkError) -> Bool {
        _ = try speak()
        var arrived: [UInt8] = []
        let isOpen = try receive(into: &arrived)
        try take(arrived, listener)
        let isSent = try speak()
        guard isOpen else { throw Self.broken }
        return isSent
    }

    /// Sends pending frames as far as the socket accepts them. Returns true if it accepted everything.
    private mutating func speak() throws(NetworkError) -> Bool {
        // Unsent bytes keep further messages waiting in the bounded queue. Nothing follows a close frame.
        let mayTake = try flush() || shared.isClosing
        guard mayTake, goodbye == nil else { return outgoing.isEmpty }
        answerPing()
        let (messages, isClosing) = shared.take()
        for message in messages { appendFrame(WebSocketFrame.text, message) }
        if isClosing {
            appendFrame(WebSocketFrame.close, [0x03, 0xE8])
            goodbye = Deadline(after: .seconds(1))
        }
        return try flush()
    }

    private mutating func take(
        _ bytes: [UInt8], _ listener: any WebSocketListener
    ) throws(NetworkError) {
        var messages: [WebSocketReader.Message] = []
        var reader = self.reader
        // Moved out and in, so that the current message is never copied.
        self.reader = WebSocketReader(limit: 0)
        var violation: NetworkError?
        bytes.withUnsafeBufferPointer { buffer in
            do throws(NetworkError) {
                try reader.read(UnsafeRawBufferPointer(buffer)) { messages.append($0) }
            } catch {
                violation = error
            }
        }
        self.reader = reader
        for message in messages where !peerClosed {
            switch message {
            case .data(let data): listener.received(data)
            case .ping(let payload): unansweredPing = payload
            case .pong: break
            case .close:
                answerPing()
                if goodbye == nil { appendFrame(WebSocketFrame.close, [0x03, 0xE8]) }
                peerClosed = true
            }
        }
        // Messages before an error count, and after a close frame none does, as if each piece had come alone.
        if let violation, !peerClosed { throw violation }
    }

    private mutating func answerPing() {
        guard let payload = unansweredPing, goodbye == nil else { return }
        unansweredPing = nil
        appendFrame(WebSocketFrame.pong, payload)
    }

    private func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { outgoing.append($0) } }

    private func appendFrame(_ opcode: UInt8, _ payload: [UInt8]) {
        append(WebSocketFrame.masked(opcode, payload, mask: random.bytes(4)))
    }

    /// Sends to the socket. Returns true if it accepted everything.
    private func flush() throws(NetworkError) -> Bool {
        try socket.send(outgoing) { Socket.failure("send to the server") }
    }

    /// Appends received bytes up to 4 MiB. Returns false if the peer has closed.
    private func receive(into bytes: inout [UInt8]) throws(NetworkError) -> Bool {
        for _ in 0..<16 {
            buffer.removeAll()
            var hasEnded = false
            let count = try buffer.append(upTo: 256 << 10) { memory throws(NetworkError) in
                while true {
                    let count = recv(socket.descriptor, memory.baseAddress, memory.count, 0)
                    if count > 0 { return count }
                    if count == 0 || errno == EAGAIN {
                        hasEnded = count == 0
                        return 0
                    }
                    if errno != EINTR { throw Socket.failure("read from the server") }
                }
            }
            if hasEnded { return false }
            if count == 0 { return true }
            bytes += buffer.bytes
        }
        return true
    }

    private func wait(_ isSent: Bool) throws(NetworkError) {
        let events = Int16(POLLIN) | (isSent ? 0 : Int16(POLLOUT))
        var requests = [
            pollfd(fd: socket.descriptor, events: events, revents: 0),
            pollfd(fd: shared.wakeUp.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        poll(&requests, milliseconds: goodbye?.milliseconds ?? -1)
        if requests[1].revents != 0 { shared.wakeUp.clear() }
    }
}
