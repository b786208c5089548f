import COpenSSL

/// The output of an SSL object. Gathers records in a queue, so that many of them leave with one system call.
enum GatheringBIO {
    /// The maximum number of waiting bytes. Our own output never reaches it. A peer reaches it if TLS must answer its
    /// key updates and it does not read. Its connection then ends.
    private static let limit = 256 << 10

    // Created once and immutable.
    private nonisolated(unsafe) static let method: OpaquePointer? = {
        let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "gathering")
        BIO_meth_set_write(
            method,
            { bio, bytes, count in
                guard let bytes, count > 0, let queue = BIO_get_data(bio) else { return -1 }
                let pending = Unmanaged<ByteQueue>.fromOpaque(queue).takeUnretainedValue()
                guard pending.count + Int(count) <= limit else { return -1 }
                pending.append(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
                return count
            })
        // Flushing and corking need no action here; the result is success.
        BIO_meth_set_ctrl(method, { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 })
        return method
    }()

    /// Returns a BIO that appends to `queue`, which must outlive it.
    static func make(into queue: ByteQueue) -> OpaquePointer? {
        let bio = BIO_new(method)
        BIO_set_data(bio, Unmanaged.passUnretained(queue).toOpaque())
        BIO_set_init(bio, 1)
        return bio
    }
}
