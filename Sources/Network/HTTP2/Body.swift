/// The outgoing body of a message, read when the connection can send it.
///
/// Called on the connection's thread, one call at a time. A call may block for a file or a cipher; the connection
/// stands still meanwhile.
public protocol BodySource: Sendable {
    /// The total length in bytes, known beforehand. 0 sends no body.
    var length: Int { get }

    /// Writes the next bytes: between 1 and `buffer.count`. Called until `length` bytes were written; an error closes
    /// the connection.
    /// - Parameter offset: The number of bytes written by earlier calls.
    /// - Throws: Any error. A client's request fails with it if it is a `NetworkError`, otherwise with `.body` and it
    ///   as the cause.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int
}

/// Receives the incoming body of a message.
///
/// Called on the connection's thread. The bytes lie in the decryption buffer and are valid during the call. The peer
/// gets no credit meanwhile, so a slow sink slows the sender instead of filling memory.
public protocol BodySink: Sendable {
    /// Receives the next bytes in order. An error closes the connection.
    /// - Throws: As `BodySource.read`.
    func receive(_ bytes: UnsafeRawBufferPointer) throws
}
