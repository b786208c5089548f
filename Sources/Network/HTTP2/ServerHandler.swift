/// The behaviour of a server. Shared by the threads of all connections.
public protocol HTTP2ServerHandler: Sendable {
    /// A client connected. `channelBinding` is its Finished message ("tls-unique", 32 bytes).
    func connected(channelBinding: [UInt8], from peer: PeerAddress) -> any ServerConnectionHandler
}

/// The state of one connection. Lives on the connection's thread.
public protocol ServerConnectionHandler: AnyObject {
    /// A request began. Its method, path and headers have no meaning in XFTP.
    func requestBegan() -> any ServerExchange
}

/// One request and its answer, on the connection's thread. Each method may block for a file; the connection stands
/// still meanwhile. An error closes the connection.
public protocol ServerExchange: AnyObject {
    /// Receives the next bytes of the request, valid during the call. An answer returned here is sent at once; the rest
    /// of the request is read and dropped, so the connection stays usable.
    /// - Throws: Any error.
    func receive(_ bytes: UnsafeRawBufferPointer) throws -> (any BodySource)?

    /// The request is complete and has no answer yet.
    /// - Throws: Any error.
    func finish() throws -> any BodySource

    /// The connection ended before the request was complete.
    func abandon()
}
