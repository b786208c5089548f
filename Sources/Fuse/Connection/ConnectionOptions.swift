import CFuse3

/// The features negotiated in FUSE_INIT through libfuse. `Handshake` adds features that libfuse 3.14 does not name.
enum ConnectionOptions {
    /// Maximum bytes of a write request: Linux's maximum with pages of 4 KiB.
    static let maxWrite = 1 << 20

    static func set(on connection: inout fuse_conn_info, passthrough: Bool) {
        // Requests must fit into the buffers of `RequestLoop` with larger pages too.
        connection.max_write = UInt32(maxWrite)
        // Page-cache reads count as background requests until they are answered. With the default of 12, a dozen
        // readers of files that are not local would block all other reads.
        connection.max_background = 4096
        connection.congestion_threshold = 3072
        // Pages stay valid until a notice, whatever mtime and size do.
        chatfs_fuse_do_not_want(&connection, UInt32(FUSE_CAP_AUTO_INVAL_DATA))
        chatfs_fuse_want(&connection, UInt32(FUSE_CAP_EXPLICIT_INVAL_DATA))
        // `ls -l` of ten thousand entries takes one pass; a plain `ls` requests no attributes.
        chatfs_fuse_want(&connection, UInt32(FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO))
        // Replies are decrypted in memory, so there is no pipe to splice from. At 1 MiB, libfuse would allocate a
        // buffer per request.
        chatfs_fuse_do_not_want(
            &connection, UInt32(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE))
        chatfs_fuse_want_named(&connection, passthrough)
    }
}
