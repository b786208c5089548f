import CZlib

/// Raw DEFLATE (RFC 1951), as web links of relays carry it.
enum Inflate {
    enum Failure: Error, Hashable {
        /// The bytes are no DEFLATE stream, or more bytes follow its end.
        case malformed
        /// The output is longer than the limit.
        case tooLong
    }

    /// The output of one call of zlib. Bounds the memory beyond the limit.
    private static let step = 16 << 10

    /// Returns the decompressed bytes.
    /// - Parameter limit: The maximum output in bytes.
    static func decode(_ compressed: [UInt8], limit: Int) throws(Failure) -> [UInt8] {
        // At one address, which zlib compares.
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        defer { stream.deallocate() }
        stream.initialize(to: z_stream())
        // Negative: no header and no checksum.
        let started = inflateInit2_(stream, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        precondition(started == Z_OK, "zlib could not be started: \(started)")
        defer { inflateEnd(stream) }
        var (input, piece, output) = (compressed, [UInt8](repeating: 0, count: step), [UInt8]())
        return try input.withUnsafeMutableBufferPointer {
            (input: inout UnsafeMutableBufferPointer<UInt8>) throws(Failure) -> [UInt8] in
            stream.pointee.next_in = input.baseAddress
            stream.pointee.avail_in = UInt32(clamping: input.count)
            while true {
                let (result, count) = piece.withUnsafeMutableBufferPointer { piece in
                    stream.pointee.next_out = piece.baseAddress
                    stream.pointee.avail_out = UInt32(piece.count)
                    let result = inflate(stream, Z_NO_FLUSH)
                    return (result, piece.count - Int(stream.pointee.avail_out))
                }
                guard count <= limit - output.count else { throw .tooLong }
                output += piece[..<count]
                // Z_BUF_ERROR: the input ends before the stream.
                switch result {
                case Z_OK: continue
                case Z_STREAM_END where stream.pointee.avail_in == 0: return output
                default: throw .malformed
                }
            }
        }
    }
}
