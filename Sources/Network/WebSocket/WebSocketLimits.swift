enum WebSocketLimits {
    /// The maximum length of a message in either direction, in bytes.
    static let messageLength = 64 << 20
}
