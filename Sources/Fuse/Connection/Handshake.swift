import CLinux

/// The first request and its answer, in which kernel and daemon agree on what they do for each other. libfuse
/// makes the answer; this adds what 3.14 has no names for, as far as the kernel offers it. 3.17 has them
/// (`chatfs_fuse_want_named`), and its answer goes out as it is. Values in the byte order of the machine, as all of this protocol.
struct Handshake: Hashable, Sendable {
    /// The operation of the first request, FUSE_INIT.
    static let operation: UInt32 = 26

    /// Which answer belongs to it.
    let unique: UInt64
    /// What the kernel offers, FUSE_… of `linux/fuse.h`.
    private let offered: UInt64

    /// The answer has flags above bit 31: FUSE_INIT_EXT, Linux 5.17.
    private static let moreFlags: UInt64 = 1 << 30
    /// FUSE_HANDLE_KILLPRIV_V2, Linux 5.11: the daemon takes care of set-user-id bits, so that the kernel need
    /// not ask for `security.capability` before every write. Nothing here can have such bits.
    private static let dropsPrivileges: UInt64 = 1 << 28
    /// FUSE_PASSTHROUGH, Linux 6.9.
    private static let passthrough: UInt64 = 1 << 37

    /// From a request as it was read; nil when it is another or too short.
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

    /// Adds to libfuse's answer. Without `passthrough` nothing is agreed about it: it would keep others from
    /// stacking a filesystem on this one.
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
