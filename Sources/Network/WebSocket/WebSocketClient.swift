import Base
import Posix

/// A WebSocket (RFC 6455) over plain TCP, as a client: for programs on this machine. One thread each.
public final class WebSocketClient: Sendable {
    private let shared: WebSocketState

    fileprivate init(_ shared: WebSocketState) { self.shared = shared }

    deinit { close() }

    /// Connects and shakes hands within `timeout`. Waits on a thread of its own; cancelling the task
    /// gives up at once. After an error the listener hears nothing.
    /// - Throws: `.nameNotFound`, `.unreachable`, `.timeout`, `.closed`, `.exhausted`, `.cancelled`;
    ///   `.handshake` when the server is no WebSocket server.
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

    /// The whole life of a connection, on its thread.
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

    /// Whether messages can still be sent. False may come a moment after the connection broke.
    public var isOpen: Bool { shared.isOpen }

    /// Hands a text message over for sending. Returns at once.
    ///
    /// - Throws: `.closed`, or `.exhausted` when more than the longest message waits to be sent.
    public func send(_ text: [UInt8]) throws(NetworkError) { try shared.send(text) }

    /// Says goodbye and ends the connection soon; messages handed over before are sent.
    public func close() { shared.close() }
}
