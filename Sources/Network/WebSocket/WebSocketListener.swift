/// Receives the messages of a WebSocket. Called on the connection's thread, which reads nothing meanwhile.
public protocol WebSocketListener: Sendable {
    /// A whole message, text or binary.
    func received(_ message: [UInt8])
    /// The connection ended. Always the last call.
    func ended(_ error: NetworkError)
}
