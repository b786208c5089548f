import Base
import Posix

/// Makes a connection: starts the thread that resolves, connects, performs the TLS handshake, verifies the identity,
/// and then serves requests.
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
            stop.notify()
        }
        return try outcome.get()
    }

    /// Runs the connection's thread from beginning to end.
    private func begin(
        _ connection: ClientConnection, _ stop: WakeUp,
        _ continuation: CheckedContinuation<Result<HTTP2Client, NetworkError>, Never>
    ) {
        do throws(NetworkError) {
            // This thread keeps no reference to the client, whose end closes the connection.
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
        let route = ClientRoute(endpoint: endpoint, tls: tls, proxy: proxy)
        let stream = try TLSStream.connect(route, deadline: Deadline(after: timeout), stop: stop)
        let certificates = stream.peerCertificates
        let driver = try ClientDriver(
            stream: stream, connection: connection, authority: endpoint.description)
        whenReady(
            HTTP2Client(
                connection: connection, endpoint: endpoint, channelBinding: stream.channelBinding,
                peerCertificates: certificates))
        return driver
    }
}
