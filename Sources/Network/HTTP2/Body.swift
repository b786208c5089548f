/// The body of a message on its way out: bytes that are asked for when the connection can take them.
///
/// Called on the connection's thread only, one call at a time. It may block for a file or a cipher;
/// while it does, nothing else moves on that connection.
public protocol BodySource: Sendable {
    /// Bytes in all. Known beforehand; 0 sends no body.
    var length: Int { get }

    /// Gives the next bytes: between 1 and `buffer.count` of them. Called until `length` bytes were
    /// given; throwing closes the connection.
    /// - Throws: anything; a client's request ends with it where it is a `NetworkError`, else with `.body`
    ///   and it as the cause.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
}

/// Takes the body of a message as it arrives.
///
/// Called on the connection's thread only. The bytes lie in the buffer that they were decrypted
/// into and are valid during the call. As long as the call lasts the peer is not credited, so a
/// slow sink slows the sender instead of filling memory.
public protocol BodySink: Sendable {
    /// The next bytes in order. Throwing closes the connection.
    /// - Throws: as `BodySource.read`.
    func receive(_ bytes: UnsafeRawBufferPointer) throws
}
