/// What a server does with its connections. Shared by all their threads.
public protocol HTTP2ServerHandler: Sendable {
    /// A client has connected. `channelBinding` is its Finished message ("tls-unique", 32 bytes).
    func connected(channelBinding: [UInt8], from peer: PeerAddress) -> any ServerConnectionHandler
}

/// What a server keeps for one connection. Lives on the connection's thread.
public protocol ServerConnectionHandler: AnyObject {
    /// A request has begun; method, path and headers do not matter in XFTP.
    func requestBegan() -> any ServerExchange
}

/// One request and its answer, on the connection's thread. Any method may block for a file; while it
/// does, nothing else moves on the connection. Throwing closes the connection.
public protocol ServerExchange: AnyObject {
    /// The next bytes of the request, valid during the call. An answer given here is sent at once;
    /// the rest of the request is then taken and dropped, so that the connection stays usable.
    /// - Throws: anything.
    func receive(_ bytes: UnsafeRawBufferPointer) throws -> (any BodySource)?

    /// The request is complete and has no answer yet.
    /// - Throws: anything.
    func finish() throws -> any BodySource

    /// The connection ended before the request was complete.
    func abandon()
}
