import Base
import COpenSSL
import Glibc
import Posix
import TestSupport

@testable import Network

/// The server's end of a WebSocket with scripted bytes. Every wait has a limit.
final class WebSocketPeer {
    private let socket: Socket
    private let wakeUp: WakeUp
    private var heard: [UInt8] = []
    private static let bound = Duration.seconds(90)

    init(_ socket: Socket) throws {
        self.socket = socket
        wakeUp = try WakeUp()
    }

    /// Creates a server with this behaviour after a proper handshake.
    static func serving(_ behave: @escaping @Sendable (WebSocketPeer) throws -> Void) throws -> Endpoint {
        try accepting { peer in
            try peer.say(answer(to: peer.hearKey()))
            try behave(peer)
        }
    }

    /// Creates a server with this behaviour from the first byte.
    static func accepting(_ behave: @escaping @Sendable (WebSocketPeer) throws -> Void) throws -> Endpoint {
        try RawServer.accepting { try behave(WebSocketPeer($0)) }.endpoint
    }

    /// Returns the key of the complete request.
    func hearKey() throws -> String {
        while !heard.suffix(4).elementsEqual("\r\n\r\n".utf8) { try hear() }
        defer { heard = [] }
        let lines = String(decoding: heard, as: UTF8.self).split(separator: "\r\n")
        let field = "Sec-WebSocket-Key: "
        guard let line = lines.first(where: { $0.hasPrefix(field) }) else { throw WaitedInVain("no key") }
        return String(line.dropFirst(field.count))
    }

    static func answer(to key: String) -> [UInt8] {
        let input = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
        var digest = [UInt8](repeating: 0, count: 20)
        SHA1(input, input.count, &digest)
        return Array(
            """
            HTTP/1.1 101 Switching Protocols\r
            Upgrade: websocket\r
            Connection: Upgrade\r
            Sec-WebSocket-Accept: \(Base64.encode(digest))\r
            \r

            """.utf8)
    }

    /// Returns a server's frame, unmasked.
    static func frame(_ opcode: UInt8, _ payload: [UInt8] = [], isFinal: Bool = true) -> [UInt8] {
        // The payload of a client's frame, unmasked.
        let masked = WebSocketFrame.masked(opcode, payload, mask: [0, 0, 0, 0])
        let length = masked.count - payload.count - 4
        var frame = Array(masked.prefix(length)) + payload
        frame[1] &= 0x7F
        if !isFinal { frame[0] &= 0x7F }
        return frame
    }

    /// The kernel keeps some KiB of unread bytes, and the rest waits with the client.
    func keepLittle() {
        var size: Int32 = 16_384
        setsockopt(socket.descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    func say(_ bytes: [UInt8]) throws {
        var left = bytes[...]
        let deadline = Deadline(after: Self.bound)
        while !left.isEmpty {
            let count = left.withUnsafeBytes {
                send(socket.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count >= 0 {
                left = left.dropFirst(count)
            } else {
                guard errno == EAGAIN, !deadline.hasPassed else { throw WaitedInVain("nobody listens") }
                _ = try socket.wait(for: Int16(POLLOUT), until: deadline, stop: wakeUp)
            }
        }
    }

    /// Waits for more bytes; throws at the end of the connection.
    private func hear() throws {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let deadline = Deadline(after: Self.bound)
        while !deadline.hasPassed {
            let count = recv(socket.descriptor, &buffer, buffer.count, 0)
            if count > 0 {
                heard += buffer.prefix(count)
                return
            }
            guard count < 0, errno == EAGAIN else { throw WaitedInVain("the client has gone") }
            _ = try socket.wait(for: Int16(POLLIN), until: deadline, stop: wakeUp)
        }
        throw WaitedInVain("nothing was said")
    }

    /// Returns the client's next frame, unmasked.
    func hearFrame() throws -> (opcode: UInt8, payload: [UInt8]) {
        while true {
            if let (frame, length) = Self.frame(in: heard) {
                heard.removeFirst(length)
                return frame
            }
            try hear()
        }
    }

    /// The same without its payload, which takes time to unmask.
    func skipFrame() throws -> UInt8 {
        while true {
            if let (opcode, _, _, length) = Self.parts(of: heard) {
                heard.removeFirst(length)
                return opcode
            }
            try hear()
        }
    }

    /// Returns a masked frame at the start of bytes and its length, or nil if it is incomplete.
    static func frame(in bytes: [UInt8]) -> (frame: (opcode: UInt8, payload: [UInt8]), length: Int)? {
        guard let (opcode, mask, payload, length) = parts(of: bytes) else { return nil }
        return ((opcode, payload.enumerated().map { $1 ^ mask[$0 & 3] }), length)
    }

    private static func parts(
        of bytes: [UInt8]
    ) -> (opcode: UInt8, mask: [UInt8], payload: [UInt8], length: Int)? {
        var reader = ByteReader(bytes)
        guard let first = reader.byte(), let second = reader.byte(), second & 0x80 != 0 else { return nil }
        let length: Int? =
            switch second & 0x7F {
            case 126: reader.integer(UInt16.self).map(Int.init)
            case 127: reader.integer(UInt64.self).map(Int.init)
            case let short: Int(short)
            }
        guard let length, let mask = reader.bytes(4), let payload = reader.bytes(length) else { return nil }
        return (first & 0x0F, mask, payload, bytes.count - reader.remaining)
    }

    /// Waits until the client has closed.
    func hearTheEnd() throws {
        do { while true { try hear() } } catch let error as WaitedInVain {
            guard error.description == "the client has gone" else { throw error }
        }
    }

    func hangUp() { shutdown(socket.descriptor, Int32(SHUT_RDWR)) }
}

/// Records a client's messages.
final class HeardMessages: WebSocketListener {
    private let state = Lock((messages: [[UInt8]](), errors: [NetworkError]()))

    var messages: [[UInt8]] { state.withLock { $0.messages } }
    var errors: [NetworkError] { state.withLock { $0.errors } }

    func received(_ message: [UInt8]) { state.withLock { $0.messages.append(message) } }
    func ended(_ error: NetworkError) { state.withLock { $0.errors.append(error) } }

    /// The reason for the end, if it has ended.
    func end() async throws -> NetworkError {
        try await wait(for: "the end") { errors.first }
    }
}
