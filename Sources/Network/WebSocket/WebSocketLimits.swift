enum WebSocketLimits {
    /// Longest message in either direction, in bytes.
    static let messageLength = 64 << 20
}
