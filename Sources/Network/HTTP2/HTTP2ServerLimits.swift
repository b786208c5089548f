/// The limits for clients of an `HTTP2Server`.
public struct HTTP2ServerLimits: Sendable {
    /// The maximum number of connections. Further ones are closed at once.
    public var connections = 320
    /// The same for one address, so that others find some free.
    public var connectionsOfPeer = 256
    /// The time limit from accepting to the end of the TLS handshake.
    public var handshake: Duration = .seconds(30)
    /// The time limit from a request's headers to the end of its body, as in the official relay.
    public var request: Duration = .seconds(300)
    /// The time for which a client may read nothing of an answer.
    public var stall: Duration = .seconds(120)
    /// The time for which a connection may have no requests.
    public var idle: Duration = .seconds(1800)

    public init() {}
}
