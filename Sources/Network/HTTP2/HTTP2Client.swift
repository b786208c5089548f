import Base
import Posix

/// A client's connection to a relay: TLS 1.3 and HTTP/2, on a thread of its own.
///
/// Requests may be sent from any task, several at once. There is no way to give up a single request
/// (the official relay closes the connection when a stream is reset), so whatever ends a request
/// before its answer, a deadline, a cancelled task, a throwing body, closes the connection, and
/// every other request on it fails with `.closed`.
public final class HTTP2Client: Sendable {
    private let connection: ClientConnection

    /// Where it leads.
    public let endpoint: Endpoint
    /// The client's Finished message of the TLS handshake ("tls-unique", 32 bytes): the XFTP session
    /// id that the relay must repeat.
    public let channelBinding: [UInt8]
    /// What the relay showed, DER, leaf first: already checked against the fingerprint.
    public let peerCertificates: [[UInt8]]
    /// Public key of the leaf, SubjectPublicKeyInfo DER (Ed25519 or Ed448): what the relay signs its
    /// hello with.
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

    /// Connects, agrees on TLS and checks the identity, all within `timeout`. Waits on a thread of
    /// its own; cancelling the task gives up at once. Through a proxy the host's name is not looked up here.
    /// - Throws: `.nameNotFound`, `.unreachable`, `.timeout`, `.closed`, `.exhausted`, `.cancelled`,
    ///   `.handshake` (also of the proxy), `.identity`, `.configuration`.
    public static func connect(
        to endpoint: Endpoint, tls: TLSClientSettings, timeout: Duration, through proxy: SOCKSProxy? = nil
    ) async throws(NetworkError) -> HTTP2Client {
        try await ConnectAttempt(endpoint: endpoint, tls: tls, timeout: timeout, proxy: proxy).run()
    }

    /// Whether requests can still be sent. False may come a moment after the relay closed.
    public var isOpen: Bool { connection.isOpen }

    /// Sends one POST and gives the body of the answer to `sink`; returns when the answer is
    /// complete. `body` and `sink` are never used again after this returns or throws.
    ///
    /// When the relay answers before it has taken the whole body, the answer counts, and the
    /// connection is closed: the official relay never credits what it did not read.
    /// - Throws: `.closed`, `.timeout`, `.cancelled`, `.protocolViolation`; what `body` or `sink` throws,
    ///   as the cause of `.body` unless it is a `NetworkError`.
    public func send(
        _ body: any BodySource, to sink: any BodySink, deadline: Duration
    ) async throws(NetworkError) {
        let request = ClientRequest(body: body, sink: sink, deadline: Deadline(after: deadline))
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                request.begin(continuation)
                connection.add(request)
            }
        } onCancel: {
            connection.cancel(request)
        }
        try outcome.get()
    }

    /// Closes the connection; requests under way fail with `.closed`.
    public func close() { connection.close() }
}
