import Base
import Glibc
import Posix

/// Making a connection: starts the connection's thread, which resolves, connects, agrees on TLS,
/// checks the identity, and then goes on to serve requests.
struct ConnectAttempt: Sendable {
    let endpoint: Endpoint
    let tls: TLSClientSettings
    let timeout: Duration
    let proxy: SOCKSProxy?

    func run() async throws(NetworkError) -> HTTP2Client {
        let connection = try ClientConnection()
        let stop = try WakeUp.orExhausted()
        let outcome: Result<HTTP2Client, NetworkError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                do throws(SystemError) {
                    try Thread.begin("xftp-client") { begin(connection, stop, continuation) }
                } catch {
                    continuation.resume(
                        returning: .failure(NetworkError(.exhausted, error.sentence, cause: error)))
                }
            }
        } onCancel: {
            stop.ring()
        }
        return try outcome.get()
    }

    /// The connection's thread, from its beginning to its end.
    private func begin(
        _ connection: ClientConnection, _ stop: WakeUp,
        _ continuation: CheckedContinuation<Result<HTTP2Client, NetworkError>, Never>
    ) {
        do throws(NetworkError) {
            // This thread keeps no reference to the client, whose end is the connection's.
            let driver = try establish(connection, stop: stop) {
                continuation.resume(returning: .success($0))
            }
            driver.run()
        } catch {
            continuation.resume(returning: .failure(error))
        }
    }

    private func establish(
        _ connection: ClientConnection, stop: WakeUp, whenReady: (HTTP2Client) -> Void
    ) throws(NetworkError) -> ClientDriver {
        let deadline = Deadline(after: timeout)
        let next = proxy?.endpoint ?? endpoint
        let addresses = try AddressLookUp(next).run(deadline: deadline, stop: stop)
        let socket = try Socket.connect(to: addresses, deadline: deadline, stop: stop)
        try proxy?.connect(socket, to: endpoint, deadline: deadline, stop: stop)
        let stream = try TLSStream(context: TLSContext(client: tls), socket: socket, isClient: true)
        while try !stream.handshake() {
            guard !deadline.hasPassed else {
                throw NetworkError(.timeout, "The relay did not finish the TLS handshake in time.")
            }
            let events = Int16(POLLIN) | (stream.hasUnsent ? Int16(POLLOUT) : 0)
            _ = try socket.wait(for: events, until: deadline, stop: stop)
        }
        let certificates = stream.peerCertificates
        try IdentityCheck.verify(certificates, fingerprint: tls.identityFingerprint)
        guard stream.applicationProtocol.map(tls.applicationProtocols.contains) == true else {
            throw NetworkError(.handshake, "The server did not agree on the protocol: it is no XFTP relay.")
        }
        let driver = try ClientDriver(
            stream: stream, connection: connection, authority: endpoint.description)
        whenReady(
            HTTP2Client(
                connection: connection, endpoint: endpoint, channelBinding: stream.channelBinding,
                peerCertificates: certificates))
        return driver
    }
}
