import CLinux

/// Has the kernel end a connection whose other side is not there any more: the network was left, the machine
/// woke up somewhere else, the peer lost its power. Nothing says so by itself, and a request would wait for its
/// own deadline, which is longer than readers wait. A peer that is only slow, or busy, acknowledges what comes,
/// without its program, and is not concerned.
enum PeerWatch {
    /// Seconds without a byte after which the peer is asked, and between two questions.
    static let idle: Int32 = 4
    static let interval: Int32 = 2
    /// Questions without an answer after which it is gone.
    static let questions: Int32 = 3
    /// Bytes that were sent and not acknowledged for so long are the same sign; with them under way nothing is
    /// asked (tcp(7), TCP_USER_TIMEOUT).
    static let unacknowledged: UInt32 = 10_000

    /// A peer that may sleep for a while and come back: two minutes pass before it is gone.
    static func allowSleep(on descriptor: Int32) { _ = chatfs_tcp_keep_alive(descriptor, 20, 10, 10) }

    /// - Parameter isClient: a server lets its clients take their time: to Linux one that reads nothing for a
    ///   while is as one that acknowledges nothing.
    static func begin(on descriptor: Int32, isClient: Bool) {
        // Without it requests end at their deadlines.
        _ = chatfs_tcp_keep_alive(descriptor, idle, interval, questions)
        if isClient { _ = chatfs_tcp_user_timeout(descriptor, unacknowledged) }
    }
}
