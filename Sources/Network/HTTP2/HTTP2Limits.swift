/// The limits for a peer, as announced in settings or checked here.
enum HTTP2Limits {
    /// The number of open streams, several times a client's number of chunks: each may hold a block of 16 KiB and an
    /// open file. Further requests wait (RFC 9113, 5.1.2).
    static let streams = 16
    /// The bytes that a peer may send before it gets credit: enough for chunks of 4 MiB on several streams over a
    /// network of 100 ms and 1 Gbit/s. They wait in the kernel's buffers.
    static let streamWindow = 8 << 20
    static let connectionWindow = 16 << 20
    /// The maximum length of a received frame.
    static let frame = 64 << 10
    /// The maximum length of a sent frame, if the peer permits it.
    static let frameSent = 64 << 10
    /// The maximum headers of a message: all names and values, and 32 bytes each.
    static let headerBytes = 8 << 10
}

/// Limits a peer's frames without payload: settings, pings, resets, empty data. Honest peers send few of them for each
/// frame of data; a flood would cost time and memory.
struct FrameAllowance {
    private static let maxFrames = 4000
    private var left = FrameAllowance.maxFrames

    /// Returns false above the limit.
    mutating func take(frameThatCarries carries: Bool) -> Bool {
        left += carries ? 4 : -1
        left = min(left, Self.maxFrames)
        return left >= 0
    }

    /// Adds credit for sent data: an honest receiver sends at most one window update for each KiB.
    mutating func take(bytesSent count: Int) { left = min(left + count / 1024 + 1, Self.maxFrames) }

    mutating func replenish(_ count: Int) { left = min(left + count, Self.maxFrames) }
}
