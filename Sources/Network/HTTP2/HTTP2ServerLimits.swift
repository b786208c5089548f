/// What a client of an `HTTP2Server` may cost.
public struct HTTP2ServerLimits: Sendable {
    /// Connections at once; further ones are closed at once.
    public var connections = 320
    /// The same of one address, which leaves others some.
    public var connectionsOfPeer = 256
    /// From accepting to the end of the TLS handshake.
    public var handshake: Duration = .seconds(30)
    /// From a request's headers to the end of its body. The official relay gives a chunk as long.
    public var request: Duration = .seconds(300)
    /// How long a client may refuse to take more of an answer.
    public var stall: Duration = .seconds(120)
    /// How long a connection may stay without requests.
    public var idle: Duration = .seconds(1800)

    public init() {}
}
