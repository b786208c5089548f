import CFuse3

/// What libfuse agrees on with the kernel when the mount begins; `Handshake` adds what libfuse 3.14 has no names for.
enum Agreement {
    /// The most bytes of one write, which is as much as Linux sends with pages of 4 KiB.
    static let maxWrite = 1 << 20

    static func make(_ connection: inout fuse_conn_info, passthrough: Bool) {
        // Requests have to fit into the buffers of `RequestLoop`, however large pages are here.
        connection.max_write = UInt32(maxWrite)
        // The default of 12 lets a dozen readers of files that are not here yet stop the reads of all
        // others: page-cache reads count against it until they are answered.
        connection.max_background = 4096
        connection.congestion_threshold = 3072
        // Pages stay until they are invalidated by a notice, whatever happens to mtime and size.
        chatfs_fuse_do_not_want(&connection, UInt32(FUSE_CAP_AUTO_INVAL_DATA))
        chatfs_fuse_want(&connection, UInt32(FUSE_CAP_EXPLICIT_INVAL_DATA))
        // `ls -l` of ten thousand entries in one pass, plain `ls` without asking for attributes.
        chatfs_fuse_want(&connection, UInt32(FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO))
        // Answers are decrypted in memory, so there is no pipe to splice from; and at 1 MiB libfuse
        // falls back to a fresh buffer per request.
        chatfs_fuse_do_not_want(
            &connection, UInt32(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE))
        chatfs_fuse_want_named(&connection, passthrough)
    }
}
