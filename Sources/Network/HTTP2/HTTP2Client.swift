import Base
import Posix

/// A client's connection to a relay: TLS 1.3 and HTTP/2 on its own thread.
///
/// Requests may be sent from any task, several at once. A single request cannot be aborted, because the official relay
/// closes the connection when a stream is reset. A deadline, a cancelled task or a throwing body therefore closes the
/// connection, and all other requests fail with `.closed`.
public final class HTTP2Client: Sendable {
    private let connection: ClientConnection

    /// The address of the relay.
    public let endpoint: Endpoint
    /// The client's Finished message of the TLS handshake ("tls-unique", 32 bytes): the XFTP session id that the relay
    /// must repeat.
    public let channelBinding: [UInt8]
    /// The relay's certificates as DER, leaf first, verified against the fingerprint.
    public let peerCertificates: [[UInt8]]
    /// The leaf's public key as SubjectPublicKeyInfo DER (Ed25519 or Ed448). It verifies the relay's hello.
    public var peerPublicKey: [UInt8] {
        peerCertificates.first.flatMap { Certificate(der: $0) }?.publicKey ?? []
    }

    init(
        connection: ClientConnection, endpoint: Endpoint, channelBinding: [UInt8],
        peerCertificates: [[UInt8]]
    ) {
        self.connection = connection
        self.endpoint = endpoint
        self.channelBinding = channelBinding
        self.peerCertificates = peerCertificates
    }

    deinit { connection.close() }

    /// Connects, performs the TLS handshake and verifies the identity within `timeout`. Waits on its own thread;
    /// cancelling the task stops at once. With a proxy, the host name is not looked up here.
    /// - Throws: `.nameNotFound`, `.unreachable`, `.timeout`, `.closed`, `.exhausted`, `.cancelled`,
    ///   `.handshake` (also of the proxy), `.identity`, `.configuration`.
    public static func connect(
        to endpoint: Endpoint, tls: TLSClientSettings, timeout: Duration, through proxy: SOCKSProxy? = nil
    ) async throws(NetworkError) -> HTTP2Client {
        try await ConnectAttempt(endpoint: endpoint, tls: tls, timeout: timeout, proxy: proxy).run()
    }

    /// Prepares TLS for relays, so that the first connection need not. Takes some milliseconds. `connect` reports errors.
    public static func prepare() {
        _ = try? TLSContext.shared(client: TLSClientSettings(identityFingerprint: []))
    }

    /// Whether requests can still be sent. May be true for a moment after the relay closed.
    public var isOpen: Bool { connection.isOpen }

    /// Sends one POST and passes the body of the answer to `sink`; returns when the answer is complete. `body` and
    /// `sink` are not used after the return or throw.
    ///
    /// If the relay answers before it has read the whole body, the answer counts and the connection is closed: the
    /// official relay gives no credit for unread bytes.
    /// - Throws: `.closed`, `.timeout`, `.cancelled`, `.protocolViolation`; an error of `body` or `sink` as the cause
    ///   of `.body`, unless it is a `NetworkError`.
    public func send(
        _ body: any BodySource, to sink: any BodySink, deadline: Duration
    ) async throws(NetworkError) {
        let request = ClientRequest(body: body, sink: sink, deadline: Deadline(after: deadline))
        try await connection.perform(request)
    }

    /// Closes the connection; pending requests fail with `.closed`.
    public func close() { connection.close() }
}
