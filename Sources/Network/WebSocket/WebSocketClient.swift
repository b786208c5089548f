import Base
import Posix

/// A WebSocket client (RFC 6455) over plain TCP, for programs on this machine. Each uses one thread.
public final class WebSocketClient: Sendable {
    private let shared: WebSocketState

    fileprivate init(_ shared: WebSocketState) { self.shared = shared }

    deinit { close() }

    /// Connects and performs the handshake within `timeout`, on its own thread; cancelling the task stops it at once.
    /// After an error the listener is not called.
    /// - Throws: `.nameNotFound`, `.unreachable`, `.timeout`, `.closed`, `.exhausted`, `.cancelled`; `.handshake` if
    ///   the server is not a WebSocket server.
    public static func connect(
        to endpoint: Endpoint, timeout: Duration, listener: any WebSocketListener
    ) async throws(NetworkError) -> WebSocketClient {
        let shared = WebSocketState(try WakeUp.orExhausted())
        let outcome: Result<WebSocketClient, NetworkError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                do throws(SystemError) {
                    try Thread.begin("websocket") {
                        run(endpoint, Deadline(after: timeout), shared, listener, continuation)
                    }
                } catch {
                    continuation.resume(
                        returning: .failure(NetworkError(.exhausted, error.sentence, cause: error)))
                }
            }
        } onCancel: {
            shared.close()
        }
        return try outcome.get()
    }

    /// Runs a connection from beginning to end, on its thread.
    private static func run(
        _ endpoint: Endpoint, _ deadline: Deadline, _ shared: WebSocketState,
        _ listener: any WebSocketListener,
        _ continuation: CheckedContinuation<Result<WebSocketClient, NetworkError>, Never>
    ) {
        do throws(NetworkError) {
            var connection = try WebSocketConnection.establish(
                endpoint, deadline: deadline, shared: shared)
            continuation.resume(returning: .success(WebSocketClient(shared)))
            let error = connection.run(listener)
            shared.end()
            listener.ended(error)
        } catch {
            continuation.resume(returning: .failure(error))
        }
    }

    /// Whether messages can still be sent. May be true for a moment after the connection broke.
    public var isOpen: Bool { shared.isOpen }

    /// Queues a text message and returns at once.
    ///
    /// - Throws: `.closed`, or `.exhausted` if more than the longest message waits.
    public func send(_ text: [UInt8]) throws(NetworkError) { try shared.send(text) }

    /// Sends the queued messages and a close frame, and ends the connection soon.
    public func close() { shared.close() }
}
