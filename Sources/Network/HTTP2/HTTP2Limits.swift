/// What we allow a peer, in the settings we announce and where there is no setting for it.
enum HTTP2Limits {
    /// Streams open at once, several times what a client uses for chunks: each may hold a block of 16 KiB and
    /// an open file. Who has more to ask waits, as HTTP/2 has it (RFC 9113, 5.1.2).
    static let streams = 16
    /// Bytes a peer may send before it is credited: enough for a chunk of 4 MiB on each of several
    /// streams over a network of 100 ms and 1 Gbit/s. They wait in the kernel's buffers, not in ours.
    static let streamWindow = 8 << 20
    static let connectionWindow = 16 << 20
    /// Longest frame we take.
    static let frame = 64 << 10
    /// Longest frame we send, where the peer takes it.
    static let frameSent = 64 << 10
    /// Headers of one message, all names and values and 32 bytes each.
    static let headerBytes = 8 << 10
}

/// How many frames without payload a peer may send: settings, pings, resets, empty data. Honest
/// peers send few for each frame of data; a flood of them would cost us work and memory.
struct FrameAllowance {
    private static let maxFrames = 4000
    private var left = FrameAllowance.maxFrames

    /// False when there were too many.
    mutating func take(frameThatCarries carries: Bool) -> Bool {
        left += carries ? 4 : -1
        left = min(left, Self.maxFrames)
        return left >= 0
    }

    /// A peer that takes our data credits it with window updates: at most one for each KiB is fair.
    mutating func take(bytesSent count: Int) { left = min(left + count / 1024 + 1, Self.maxFrames) }

    mutating func replenish(_ count: Int) { left = min(left + count, Self.maxFrames) }
}
