import Base
import COpenSSL
import Glibc
import Posix
import TestSupport

@testable import Network

/// A TLS connection with scripted bytes. Every wait has a limit.
final class RawPeer {
    let stream: TLSStream
    private let wakeUp: WakeUp
    private static let bound = Duration.seconds(20)

    init(_ stream: TLSStream) throws {
        self.stream = stream
        wakeUp = try WakeUp()
    }

    /// Connects to a server and finishes the TLS handshake.
    static func connect(to place: Place, protocols: [String] = ["xftp/1"]) throws -> RawPeer {
        let settings = TLSClientSettings(
            identityFingerprint: place.fingerprint, applicationProtocols: protocols)
        let socket = try connectedSocket(to: place.server.endpoint)
        let peer = try RawPeer(
            TLSStream(context: TLSContext(client: settings), socket: socket, isClient: true))
        try peer.shakeHands()
        return peer
    }

    static func connectedSocket(to endpoint: Endpoint) throws -> Socket {
        try Socket.connect(
            to: SocketAddress.resolve(endpoint, numericOnly: true), deadline: Deadline(after: bound),
            stop: WakeUp())
    }

    func shakeHands() throws {
        let deadline = Deadline(after: Self.bound)
        while try !stream.handshake() {
            guard !deadline.hasPassed else { throw WaitedInVain("no handshake") }
            _ = try stream.socket.wait(for: Int16(POLLIN), until: deadline, stop: wakeUp)
        }
    }

    func say(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { try stream.write($0) }
        let deadline = Deadline(after: Self.bound)
        while try !stream.flush() {
            guard !deadline.hasPassed else { throw WaitedInVain("nobody listens") }
            _ = try stream.socket.wait(for: Int16(POLLOUT), until: deadline, stop: wakeUp)
        }
    }

    /// Collects output that leaves together when this ends.
    func holdBack(_ isHeld: Bool) throws {
        var value: Int32 = isHeld ? 1 : 0
        try check("hold a socket back") {
            setsockopt(
                stream.socket.descriptor, Int32(IPPROTO_TCP), TCP_CORK, &value,
                socklen_t(MemoryLayout<Int32>.size))
        }
    }

    /// Returns the next bytes, or nil after a proper close.
    func hear() throws -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        let deadline = Deadline(after: Self.bound)
        while !deadline.hasPassed {
            let reading = try buffer.withUnsafeMutableBytes { try stream.read(into: $0) }
            switch reading {
            case .bytes(let count): return Array(buffer.prefix(count))
            case .ended: return nil
            case .wouldBlock:
                _ = try stream.socket.wait(for: Int16(POLLIN), until: deadline, stop: wakeUp)
            }
        }
        throw WaitedInVain("nothing was said")
    }

    /// Reads until a client's request with the one-byte body 1 on stream 1.
    func hearRequest() throws {
        var heard: [UInt8] = []
        while !heard.suffix(10).elementsEqual([0, 0, 1, 0, 1, 0, 0, 0, 1, 1]) {
            guard let more = try hear() else { throw WaitedInVain("no request") }
            heard += more
        }
    }

    /// Returns whether the other side closes within the limit, in any way.
    func hearsTheEnd() -> Bool {
        do {
            while try hear() != nil {}
            return true
        } catch let error as NetworkError {
            return error.code == .closed
        } catch {
            return false
        }
    }
}

/// A TLS client that sends data, requests key updates, and never reads.
final class KeyUpdater {
    private let socket: Socket
    private let context: TLSContext
    private let ssl: OpaquePointer
    private let wakeUp: WakeUp
    private static let bound = Duration.seconds(20)

    init(to place: Place) throws {
        wakeUp = try WakeUp()
        socket = try RawPeer.connectedSocket(to: place.server.endpoint)
        context = try TLSContext(
            client: TLSClientSettings(
                identityFingerprint: place.fingerprint, applicationProtocols: ["xftp/1"]))
        guard let ssl = SSL_new(context.pointer) else { throw WaitedInVain("no memory") }
        self.ssl = ssl
        SSL_set_fd(ssl, socket.descriptor)
        SSL_set_connect_state(ssl)
        try untilDone { SSL_do_handshake(ssl) }
    }

    deinit { SSL_free(ssl) }

    func say(_ bytes: [UInt8]) throws {
        try untilDone { SSL_write(ssl, bytes, Int32(clamping: bytes.count)) }
    }

    func updateKeys() throws {
        guard SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED) == 1 else { throw WaitedInVain("no key update") }
        try untilDone { SSL_do_handshake(ssl) }
    }

    private func untilDone(_ body: () -> Int32) throws {
        let deadline = Deadline(after: Self.bound)
        while true {
            ERR_clear_error()
            let result = body()
            if result > 0 { return }
            let reason = SSL_get_error(ssl, result)
            guard reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE, !deadline.hasPassed else {
                throw WaitedInVain("the other side has gone")
            }
            let events = Int16(reason == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT)
            _ = try socket.wait(for: events, until: deadline, stop: wakeUp)
        }
    }
}

/// A server with a scripted behaviour for its one connection.
struct RawServer {
    let endpoint: Endpoint
    let fingerprint: [UInt8]

    /// Runs `behave` on its own thread with the accepted socket.
    static func accepting(_ behave: @escaping @Sendable (Socket) throws -> Void) throws -> RawServer {
        let local = Endpoint(host: "127.0.0.1", port: 0)
        let listener = try Socket.listen(
            on: SocketAddress.resolve(local, numericOnly: true, listening: true))
        Thread.start("raw-server") {
            var requests = [pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)]
            poll(&requests, milliseconds: 20_000)
            if let socket = try? listener.accept() { try? behave(socket) }
        }
        return RawServer(
            endpoint: Endpoint(host: "127.0.0.1", port: listener.localPort()),
            fingerprint: [UInt8](repeating: 0, count: 32))
    }

    /// With TLS; `behave` starts after the handshake.
    static func speakingTLS(_ behave: @escaping @Sendable (RawPeer) throws -> Void) throws -> RawServer {
        let identity = try NewServerIdentity.make(.ed25519, hostName: "localhost").identity
        let context = try TLSContext(server: TLSServerSettings(identity: identity))
        let server = try accepting { socket in
            let peer = try RawPeer(TLSStream(context: context, socket: socket, isClient: false))
            try peer.shakeHands()
            try behave(peer)
        }
        return RawServer(endpoint: server.endpoint, fingerprint: identity.fingerprint)
    }

    /// Reads silently until the other side closes.
    static func hold(_ socket: Socket) throws {
        let deadline = Deadline(after: .seconds(20))
        var buffer = [UInt8](repeating: 0, count: 4096)
        let wakeUp = try WakeUp()
        while try socket.wait(for: Int16(POLLIN), until: deadline, stop: wakeUp) {
            if recv(socket.descriptor, &buffer, buffer.count, 0) <= 0 { return }
        }
    }

    func connect(timeout: Duration = .seconds(20)) async throws -> HTTP2Client {
        try await HTTP2Client.connect(
            to: endpoint, tls: TLSClientSettings(identityFingerprint: fingerprint), timeout: timeout)
    }
}

/// HTTP/2 frames as bytes (RFC 9113, 4.1).
enum Frame {
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    static func make(_ type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8]
    {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt32(payload.count) << 8 | UInt32(type))
        bytes.append(flags)
        bytes.append(bigEndian: stream)
        return bytes + payload
    }

    static let settings = make(4)
    static let ping = make(6, [UInt8](repeating: 7, count: 8))

    /// `:method POST`, `:scheme https` and `:path /` from the static table, and an authority of one letter.
    static let requestFields: [UInt8] = [0x83, 0x87, 0x84, 0x41, 0x01, UInt8(ascii: "h")]

    static func headers(stream: UInt32, ends: Bool = false, fields: [UInt8] = requestFields) -> [UInt8] {
        make(1, flags: ends ? 5 : 4, stream: stream, fields)
    }

    static func data(stream: UInt32, ends: Bool = false, _ payload: [UInt8]) -> [UInt8] {
        make(0, flags: ends ? 1 : 0, stream: stream, payload)
    }

    static func reset(stream: UInt32) -> [UInt8] { make(3, stream: stream, [0, 0, 0, 8]) }
}
