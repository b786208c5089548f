/// Who hears what arrives on a WebSocket. Called on the connection's thread, which reads nothing more
/// while it is busy here.
public protocol WebSocketListener: Sendable {
    /// A whole message, text or binary.
    func received(_ message: [UInt8])
    /// The connection is over; nothing comes after this.
    func ended(_ error: NetworkError)
}
