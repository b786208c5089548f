import Base
import CLinux
import COpenSSL
import Glibc

/// A TLS connection over a non-blocking socket. Belongs to one thread, which waits for the socket itself. Nothing here
/// blocks.
final class TLSStream {
    enum Reading {
        case bytes(Int)
        /// No bytes until the socket is readable.
        case wouldBlock
        /// The peer sent close_notify.
        case ended
    }

    private let context: TLSContext
    private let ssl: OpaquePointer
    let socket: Socket
    private let incoming: ReceivedBytes
    /// Encrypted bytes that the socket has not accepted yet.
    private let outgoing = ByteQueue(capacity: 160 << 10)
    private let isClient: Bool

    init(context: TLSContext, socket: Socket, isClient: Bool) throws(NetworkError) {
        incoming = ReceivedBytes(from: socket)
        guard let ssl = SSL_new(context.pointer), let receiving = ReceivingBIO.make(from: incoming),
            let gathering = GatheringBIO.make(into: outgoing)
        else { throw NetworkError(.exhausted, "TLS could not be started: \(takeOpenSSLReason()).") }
        SSL_set_bio(ssl, receiving, gathering)
        if isClient { SSL_set_connect_state(ssl) } else { SSL_set_accept_state(ssl) }
        self.context = context
        self.ssl = ssl
        self.socket = socket
        self.isClient = isClient
    }

    deinit { SSL_free(ssl) }

    /// Continues the handshake. Returns true when it is finished, false while it waits for the peer.
    func handshake() throws(NetworkError) -> Bool {
        ERR_clear_error()
        let result = SSL_do_handshake(ssl)
        let reason = SSL_get_error(ssl, result)
        // An alert for the peer may be queued even after a failed handshake.
        let sent = Result { () throws(NetworkError) in try flush() }
        if result == 1 { return try sent.get() }
        switch reason {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE:
            _ = try sent.get()
            return false
        case SSL_ERROR_SYSCALL where ERR_peek_error() == 0:
            throw NetworkError(.closed, "The connection broke off during the TLS handshake.")
        default:
            let words = takeOpenSSLReason()
            if words.contains("unexpected eof") {
                throw NetworkError(.closed, "The connection broke off during the TLS handshake.")
            }
            throw NetworkError(.handshake, "The TLS handshake failed: \(words).")
        }
    }

    /// Decrypts the next bytes, at most one record.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(NetworkError) -> Reading {
        ERR_clear_error()
        let count = SSL_read(ssl, buffer.baseAddress, Int32(clamping: buffer.count))
        if count > 0 { return .bytes(Int(count)) }
        switch SSL_get_error(ssl, count) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE:
            // Acknowledge at once: a delayed acknowledgement costs 40 ms with a peer that uses Nagle's algorithm. The
            // kernel resets the option, so each receive renews it.
            _ = chatfs_tcp_quick_ack(socket.descriptor)
            return .wouldBlock
        case SSL_ERROR_ZERO_RETURN: return .ended
        case SSL_ERROR_SYSCALL where ERR_peek_error() == 0:
            throw NetworkError(.closed, "The connection broke off.")
        default:
            let words = takeOpenSSLReason()
            if words.contains("unexpected eof") {
                throw NetworkError(.closed, "The connection broke off without close_notify.")
            }
            throw NetworkError(.protocolViolation, "The TLS stream is damaged: \(words).")
        }
    }

    /// Encrypts all of `bytes` for the next `flush`.
    func write(_ bytes: UnsafeRawBufferPointer) throws(NetworkError) {
        var written = 0
        while written < bytes.count {
            ERR_clear_error()
            let rest = Int32(clamping: bytes.count - written)
            let count = SSL_write(ssl, bytes.baseAddress.map { $0 + written }, rest)
            guard count > 0 else {
                throw NetworkError(.closed, "Nothing more can be sent: \(takeOpenSSLReason()).")
            }
            written += Int(count)
        }
    }

    /// Writes to the socket. Returns true if nothing is left.
    func flush() throws(NetworkError) -> Bool {
        try socket.send(outgoing) {
            NetworkError(
                .closed, "The connection broke off: \(String(cString: strerror(errno))).",
                cause: Socket.failure("send"))
        }
    }

    /// Whether bytes wait for the socket.
    var hasUnsent: Bool { !outgoing.isEmpty }

    /// Sends close_notify as far as the socket accepts it at once.
    func shutDown() {
        ERR_clear_error()
        _ = SSL_shutdown(ssl)
        ERR_clear_error()
        // A close_notify needs no error report.
        _ = try? flush()
    }

    /// The peer's certificates as DER, leaf first. Empty on a server that requires none.
    var peerCertificates: [[UInt8]] {
        // OpenSSL omits the leaf on a server.
        let leaf = isClient ? nil : SSL_get0_peer_certificate(ssl)
        let first = leaf.map { pointer in [encoded { i2d_X509(pointer, $0) }] } ?? []
        guard let stack = SSL_get_peer_cert_chain(ssl) else { return first }
        return first
            + (0..<chatfs_x509_stack_count(stack)).compactMap { index in
                chatfs_x509_stack_value(stack, index).map { pointer in encoded { i2d_X509(pointer, $0) } }
            }
    }

    /// The protocol from ALPN.
    var applicationProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &name, &length)
        guard let name, length > 0 else { return nil }
        return String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
    }

    /// The client's Finished message, 32 bytes: "tls-unique" (RFC 5929), the same on both sides.
    var channelBinding: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count =
            isClient
            ? SSL_get_finished(ssl, &bytes, bytes.count) : SSL_get_peer_finished(ssl, &bytes, bytes.count)
        return Array(bytes.prefix(count))
    }
}
