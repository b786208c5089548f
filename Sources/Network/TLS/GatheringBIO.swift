import COpenSSL

/// The way out of an SSL object: records are gathered in a queue, so that many of them leave with
/// one system call instead of one each.
enum GatheringBIO {
    /// The most that may wait. What we send ourselves, a gather of frames or a block when nothing waits, never comes
    /// near; only a peer that makes TLS answer (key updates) and does not read the answers gets there, and its
    /// connection ends.
    private static let limit = 256 << 10

    // Made once, never changed.
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
        // Flushing and corking: there is nothing to do here, and the answer is yes.
        BIO_meth_set_ctrl(method, { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 })
        return method
    }()

    /// A BIO that appends to `queue`, which must outlive it.
    static func make(into queue: ByteQueue) -> OpaquePointer? {
        let bio = BIO_new(method)
        BIO_set_data(bio, Unmanaged.passUnretained(queue).toOpaque())
        BIO_set_init(bio, 1)
        return bio
    }
}
