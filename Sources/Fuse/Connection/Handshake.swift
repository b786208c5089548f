import CLinux

/// FUSE_INIT, in which kernel and daemon negotiate features, and its reply. This type adds the features that libfuse
/// 3.14 does not name to libfuse's reply, if the kernel offers them. The reply of libfuse 3.17, which names them
/// (`chatfs_fuse_want_named`), is sent unchanged. Values are in native byte order, as in the whole protocol.
struct Handshake: Hashable, Sendable {
    /// Opcode of FUSE_INIT.
    static let operation: UInt32 = 26

    /// Request id, repeated in the reply.
    let unique: UInt64
    /// Features offered by the kernel, FUSE_… of `linux/fuse.h`.
    private let offered: UInt64

    /// FUSE_INIT_EXT, Linux 5.17: the reply has flags above bit 31.
    private static let moreFlags: UInt64 = 1 << 30
    /// FUSE_HANDLE_KILLPRIV_V2, Linux 5.11: the daemon handles set-user-id bits, so the kernel does not request
    /// `security.capability` before every write. No file here has such bits.
    private static let dropsPrivileges: UInt64 = 1 << 28
    /// FUSE_PASSTHROUGH, Linux 6.9.
    private static let passthrough: UInt64 = 1 << 37

    /// Parses a request. Returns nil if it is another operation or too short.
    init?(request: UnsafeRawBufferPointer) {
        let headerSize = MemoryLayout<chatfs_fuse_request>.size
        guard request.count >= headerSize + 16 else { return nil }
        let header = request.loadUnaligned(as: chatfs_fuse_request.self)
        guard header.operation == Self.operation else { return nil }
        unique = header.unique
        // Kernels before 5.17 send 16 bytes.
        var offer = chatfs_fuse_offer()
        withUnsafeMutableBytes(of: &offer) { offer in
            offer.copyMemory(
                from: UnsafeRawBufferPointer(rebasing: request[headerSize...].prefix(offer.count)))
        }
        let high = UInt64(offer.flags) & Self.moreFlags != 0 ? UInt64(offer.more_flags) << 32 : 0
        offered = UInt64(offer.flags) | high
    }

    var offersPassthrough: Bool { offered & Self.passthrough != 0 }

    /// Adds features to libfuse's reply. Without `passthrough`, passthrough stays off, because it would prevent
    /// stacking another filesystem on this one.
    func complete(_ agreement: inout chatfs_fuse_agreement, passthrough: Bool) {
        var wanted = offered & Self.dropsPrivileges
        if passthrough && offersPassthrough {
            wanted |= Self.passthrough | Self.moreFlags
            agreement.stack_depth = 1
        }
        agreement.flags |= UInt32(truncatingIfNeeded: wanted)
        agreement.more_flags |= UInt32(truncatingIfNeeded: wanted >> 32)
    }
}
