import Base
import Glibc
import Posix

/// Who hears what arrives on a WebSocket. Called on the connection's thread, which reads nothing more
/// while it is busy here.
public protocol WebSocketListener: Sendable {
    /// A whole message, text or binary.
    func received(_ message: [UInt8])
    /// The connection is over; nothing comes after this.
    func ended(_ error: NetworkError)
}

/// A WebSocket (RFC 6455) over plain TCP, as a client: for programs on this machine. One thread each.
public final class WebSocketClient: Sendable {
    /// Longest message in either direction, in bytes.
    public static let longestMessage = 64 << 20

    private let shared: WebSocketState

    fileprivate init(_ shared: WebSocketState) { self.shared = shared }

    deinit { close() }

    /// Connects and shakes hands within `timeout`. Waits on a thread of its own; cancelling the task
    /// gives up at once. After an error the listener hears nothing.
    public static func connect(
        to endpoint: Endpoint, timeout: Duration, listener: any WebSocketListener
    ) async throws(NetworkError) -> WebSocketClient {
        let shared = WebSocketState(try WakeUp.orExhausted())
        let outcome: Result<WebSocketClient, NetworkError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                Thread.start("websocket") {
                    do throws(NetworkError) {
                        var connection = try WebSocketConnection.establish(
                            endpoint, deadline: Deadline(after: timeout), shared: shared)
                        continuation.resume(returning: .success(WebSocketClient(shared)))
                        let error = connection.run(listener)
                        shared.end()
                        listener.ended(error)
                    } catch {
                        continuation.resume(returning: .failure(error))
                    }
                }
            }
        } onCancel: {
            shared.close()
        }
        return try outcome.get()
    }

    /// Whether messages can still be sent. False may come a moment after the connection broke.
    public var isOpen: Bool { shared.isOpen }

    /// Hands a text message over for sending. Returns at once.
    ///
    /// - Throws: `.closed`, or `.exhausted` when more than the longest message waits to be sent.
    public func send(_ text: [UInt8]) throws(NetworkError) { try shared.send(text) }

    /// Says goodbye and ends the connection soon; messages handed over before are sent.
    public func close() { shared.close() }
}

/// What the connection's thread shares with those who send.
private final class WebSocketState: Sendable {
    private struct State {
        var messages: [[UInt8]] = []
        var waiting = 0
        var isClosing = false
        var hasEnded = false
    }

    let wakeUp: WakeUp
    private let state = Lock(State())

    init(_ wakeUp: WakeUp) { self.wakeUp = wakeUp }

    var isOpen: Bool { state.withLock { !$0.isClosing && !$0.hasEnded } }

    func send(_ text: [UInt8]) throws(NetworkError) {
        try state.withLock { state throws(NetworkError) in
            guard !state.isClosing, !state.hasEnded else {
                throw NetworkError(.closed, "The connection is closed.")
            }
            guard state.waiting + text.count <= WebSocketClient.longestMessage else {
                throw NetworkError(.exhausted, "The server takes no messages at present.")
            }
            state.waiting += text.count
            state.messages.append(text)
        }
        wakeUp.ring()
    }

    func close() {
        state.withLock { $0.isClosing = true }
        wakeUp.ring()
    }

    func end() { state.withLock { $0.hasEnded = true } }

    func take() -> (messages: [[UInt8]], isClosing: Bool) {
        state.withLock { state in
            defer {
                state.messages = []
                state.waiting = 0
            }
            return (state.messages, state.isClosing)
        }
    }
}

/// The connection on its thread.
private struct WebSocketConnection {
    private let socket: Socket
    private let shared: WebSocketState
    private var reader = WebSocketReader(limit: WebSocketClient.longestMessage)
    private let outgoing = ByteQueue(capacity: 64 << 10)
    private let buffer = ByteQueue(capacity: 256 << 10)
    private let random = SystemRandomSource()
    /// Our goodbye is on its way; what the peer says until then is still heard.
    private var goodbye: Deadline?
    private var peerClosed = false
    /// What came behind the answer to the handshake.
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

    /// Serves until the connection is over, and says why.
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

    /// True when the socket took everything.
    private mutating func step(_ listener: any WebSocketListener) throws(NetworkError) -> Bool {
        let (messages, isClosing) = shared.take()
        if goodbye == nil {
            for message in messages { appendFrame(WebSocketFrame.text, message) }
            if isClosing {
                appendFrame(WebSocketFrame.close, [0x03, 0xE8])
                goodbye = Deadline(after: .seconds(1))
            }
        }
        _ = try flush()
        var arrived: [UInt8] = []
        let isOpen = try receive(into: &arrived)
        try take(arrived, listener)
        let isSent = try flush()
        guard isOpen else { throw Self.broken }
        return isSent
    }

    private mutating func take(
        _ bytes: [UInt8], _ listener: any WebSocketListener
    ) throws(NetworkError) {
        var messages: [WebSocketReader.Message] = []
        var reader = self.reader
        // Moved out and in, so that the message under way is never copied.
        self.reader = WebSocketReader(limit: 0)
        try bytes.withUnsafeBufferPointer { buffer throws(NetworkError) in
            try reader.read(UnsafeRawBufferPointer(buffer)) { messages.append($0) }
        }
        self.reader = reader
        for message in messages where !peerClosed {
            switch message {
            case .data(let data): listener.received(data)
            case .ping(let payload): appendFrame(WebSocketFrame.pong, payload)
            case .pong: break
            case .close:
                if goodbye == nil { appendFrame(WebSocketFrame.close, [0x03, 0xE8]) }
                peerClosed = true
            }
        }
    }

    private func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { outgoing.append($0) } }

    private func appendFrame(_ opcode: UInt8, _ payload: [UInt8]) {
        append(WebSocketFrame.masked(opcode, payload, mask: random.bytes(4)))
    }

    /// Sends what the socket takes; true when that was everything.
    private func flush() throws(NetworkError) -> Bool {
        while !outgoing.isEmpty {
            let bytes = outgoing.bytes
            let count = send(socket.descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            if count >= 0 {
                outgoing.removeFirst(count)
            } else if errno == EAGAIN {
                return false
            } else if errno != EINTR {
                throw Socket.failure("send to the server")
            }
        }
        return true
    }

    /// Appends what has arrived, up to 4 MiB; false when the peer has closed.
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
        do throws(SystemError) {
            _ = try poll(&requests, milliseconds: goodbye?.milliseconds ?? -1)
        } catch {
            throw NetworkError(.exhausted, error.sentence, cause: error)
        }
        if requests[1].revents != 0 { shared.wakeUp.clear() }
    }
}
